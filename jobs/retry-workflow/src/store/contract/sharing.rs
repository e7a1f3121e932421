//! Waits for a change, and numbers at their ends.

use std::sync::Arc;
use std::time::Duration;

use super::steps::{
    at, claim_one, claimed, counts, enqueue, failure, found, new, overview, row, settle,
};
use crate::item::clock::Timestamp;
use crate::item::record::{Filter, ItemRecord, ItemState, Selection, Settled, Settlement, Waiting};
use crate::store::{Change, Store};

/// The time in which a store has to report a change; one that polls takes a second.
const TOLD_WITHIN: Duration = Duration::from_secs(10);

/// A wait for changes of `job` that has begun.
async fn waiting_for(store: &Arc<dyn Store>, seen: u64) -> tokio::task::JoinHandle<u64> {
    let own = store.clone();
    let wait = tokio::spawn(async move { own.changed("job", seen).await.expect("looked") });
    tokio::task::yield_now().await;
    wait
}

async fn told(wait: tokio::task::JoinHandle<u64>, of: &str) -> u64 {
    let told = tokio::time::timeout(TOLD_WITHIN, wait).await;
    told.unwrap_or_else(|_| panic!("nobody was told of {of}")).expect("it does not panic")
}

/// Each change that a job's workers wait for ends the wait.
pub async fn a_change_ends_the_wait_for_it(store: &Arc<dyn Store>) {
    let failed = || Filter::job("job");
    let wait = waiting_for(store, 0).await;
    enqueue(store, "job", &["a", "b", "c"]).await;
    let mut seen = told(wait, "items that are added").await;
    for change in [
        "retry", "limit", "due", "redrive", "purge", "skip", "edit", "expire", "import", "value",
        "update", "remove",
    ] {
        // The preparations may be reported, too.
        match change {
            "limit" => {
                let lease = claim_one(store, 100).await;
                let defer = Settled::Deferred { due: at(500), checkpoint: None, for_limit: true };
                settle(store, &lease, 100, defer).await;
            }
            "redrive" | "edit" => {
                let lease = claim_one(store, 100).await;
                settle(store, &lease, 100, Settled::Dead(failure("network", "refused"))).await;
            }
            "purge" => {
                store.skip("job", 1, failure("cancelled", "out"), at(100)).await.expect("skipped");
            }
            "expire" => {
                store.redrive(&failed(), None, at(100), Duration::ZERO).await.expect("redriven");
                claim_one(store, 100).await;
            }
            _ => {}
        }
        while let Ok(wait) =
            tokio::time::timeout(Duration::from_millis(20), store.changed("job", seen)).await
        {
            seen = wait.expect("looked");
        }
        let lease = if change == "retry" { Some(claim_one(store, 10).await) } else { None };
        let wait = waiting_for(store, seen).await;
        let done = match (change, lease) {
            ("retry", Some(lease)) => {
                settle(store, &lease, 10, Settled::RetryAt { due: at(50), checkpoint: None }).await;
                1
            }
            // The one that was put back.
            ("due", _) => store.make_due("job", Waiting::All, 9, at(20)).await.expect("made due"),
            ("redrive", _) => {
                store.redrive(&failed(), None, at(100), Duration::ZERO).await.expect("redriven")
            }
            ("purge", _) => {
                let skipped = failed().states([ItemState::Skipped]);
                store.purge(&skipped).await.expect("purged")
            }
            ("skip", _) => {
                store.skip("job", 1, failure("cancelled", "out"), at(100)).await.expect("skipped")
            }
            ("edit", _) => {
                let id = store.list(&failed().states([ItemState::Dead]), None, 1).await;
                let id = id.expect("listed").items.remove(0).id;
                store.edit("job", &id, "1".to_owned()).await.expect("edited").into()
            }
            ("expire", _) => {
                store.expire("job", vec!["worker".to_owned()], at(100)).await.expect("expired")
            }
            ("import", _) => {
                let new = store.list(&failed().states(ItemState::ALL), None, 1).await;
                let mut new = new.expect("listed").items.remove(0);
                "d".clone_into(&mut new.id);
                store.import(vec![new], at(100)).await.expect("imported")
            }
            ("limit", _) => {
                store.make_due("job", Waiting::ForLimit, 10, at(100)).await.expect("made due")
            }
            ("update", _) => {
                let change: Change = Box::new(|values| {
                    values.fill(Some("2".to_owned()));
                    Ok(())
                });
                store.update(vec!["job/job".to_owned()], change).await.expect("written");
                1
            }
            ("value", _) => store.cas("job/job", 0, "1").await.expect("written").into(),
            _ => store.remove("job", 100, Vec::new()).await.expect("removed"),
        };
        assert!(done > 0, "{change} has changed something");
        seen = told(wait, change).await;
    }
}

/// No change between two waits is lost.
pub async fn a_change_before_the_wait_for_it_ends_it(store: &Arc<dyn Store>) {
    let wait = waiting_for(store, 0).await;
    enqueue(store, "job", &["a"]).await;
    let seen = told(wait, "the first").await;
    enqueue(store, "job", &["b"]).await;
    told(waiting_for(store, seen).await, "the second").await;
}

/// Times before 1970, the end of time and infinite durations do not cause a panic.
pub async fn the_ends_of_time_and_numbers_are_no_panic(store: &Arc<dyn Store>) {
    let early = Timestamp::from_micros(i64::MIN);
    assert_eq!(store.enqueue("job", vec![new("a"), new("b")], early).await, Ok(2));
    assert_eq!(overview(store, "job").await.next_due, Some(early));
    let leases = store
        .claim("job", "w", early, Selection::Items { max: 1, starts: 1 }, Duration::MAX)
        .await
        .expect("claimed");
    let mut long = row(&leases[0], 0, false);
    long.duration = Duration::MAX;
    long.wait = Duration::MAX;
    (long.run, long.attempt) = (u32::MAX, u32::MAX);
    let history = vec![long.clone(), long];
    let settlement = Settlement::new(leases[0].key, Settled::Dead(failure("other", "no")), history);
    assert_eq!(store.settle(vec![settlement], Vec::new(), Timestamp::NEVER).await, Ok(vec![true]));
    let longest = Duration::from_micros(i64::MAX.unsigned_abs());
    let counts = counts(store).await;
    assert_eq!((counts.worked, counts.waited), (longest, longest));
    let item = found(store, "a").await;
    assert_eq!(item.history[1].duration, longest);
    assert_eq!((item.history[1].run, item.history[1].attempt), (u32::MAX, u32::MAX));

    let mut imported = ItemRecord { id: "c".to_owned(), ..item };
    (imported.run, imported.attempt) = (u32::MAX, u32::MAX);
    assert_eq!(store.import(vec![imported], at(0)).await, Ok(1));
    let redriven = store.redrive(&Filter::job("job"), None, at(0), Duration::MAX).await;
    assert_eq!(redriven, Ok(2));
    let item = found(store, "c").await;
    assert_eq!((item.run, item.due), (u32::MAX, Some(Timestamp::NEVER)));
    // The lease of `b` never expires.
    let b = store
        .claim("job", "w", early, Selection::Items { max: 1, starts: 1 }, Duration::MAX)
        .await
        .expect("claimed")
        .remove(0);
    assert_eq!(store.extend(vec![b.key], Vec::new(), Timestamp::NEVER).await, Ok(vec![true]));
    assert_eq!(claimed(store, Timestamp::NEVER, 9).await, ["a"]);
}
