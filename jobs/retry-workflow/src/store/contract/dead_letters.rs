//! Lists, groups, and what is done with dead letters.

use std::sync::Arc;
use std::time::Duration;

use super::steps::{
    MINUTE, at, claim, claim_one, counts, enqueue, everything, failure, found, ids, kill, new,
    nothing_is_due, settle, try_settle,
};
use crate::item::clock::Timestamp;
use crate::item::failure::Failure;
use crate::item::record::{Cursor, Filter, ItemState, Settled, Waiting};
use crate::store::Store;

/// Pages are in the order in which items were added, whatever became of them.
pub async fn a_list_is_cut_into_pages(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["e", "d", "c", "b", "a"]).await;
    enqueue(store, "other", &["f"]).await;
    let all = everything();
    let page = store.list(&all, None, 4).await.expect("a page");
    assert_eq!(page.items.len(), 4);
    let page = store.list(&all, page.next, 4).await.expect("a page");
    assert_eq!((page.items.len(), page.next), (2, None));
    // A page that is exactly full may be the last one.
    let page = store.list(&all, None, 6).await.expect("a page");
    assert_eq!((page.items.len(), page.next), (6, None));
    assert_eq!(ids(store, &all).await, ["e", "d", "c", "b", "a", "f"]);
    let beyond = store.list(&all, Some(Cursor(i64::MAX)), 4).await.expect("a page");
    assert!(beyond.items.is_empty() && beyond.next.is_none());
}

/// A list is filtered by job, state, signature and time.
pub async fn a_list_is_filtered(store: &Arc<dyn Store>) {
    let failures =
        [("a", "other", "order 1 is bad"), ("b", "timeout", "order 2 is bad"), ("c", "other", "x")];
    kill(store, &failures).await;
    enqueue(store, "job", &["d"]).await;
    enqueue(store, "other", &["e"]).await;
    let job = || Filter::job("job");
    assert_eq!(ids(store, &job()).await, ["a", "b", "c"]);
    assert_eq!(ids(store, &Filter::default()).await, ["a", "b", "c"]);
    assert_eq!(ids(store, &Filter::job("other")).await, [""; 0]);
    assert_eq!(ids(store, &job().states([ItemState::Pending])).await, ["d"]);
    let pending = Filter::default().states([ItemState::Pending, ItemState::Dead]);
    assert_eq!(ids(store, &pending).await, ["a", "b", "c", "d", "e"]);

    let like = |job: Option<String>| Filter {
        signature: Some("order <n> is bad".to_owned()),
        job,
        ..Filter::default()
    };
    assert_eq!(ids(store, &like(Some("job".to_owned()))).await, ["a", "b"]);
    assert_eq!(ids(store, &like(None)).await, ["a", "b"]);
    assert_eq!(ids(store, &Filter { signature: Some("order".to_owned()), ..job() }).await, [""; 0]);

    assert_eq!(ids(store, &Filter { since: Some(at(1)), ..job() }).await, ["b", "c"]);
    assert_eq!(ids(store, &Filter { until: Some(at(1)), ..job() }).await, ["a"]);
    let one = Filter { since: Some(at(1)), until: Some(at(2)), ..everything() };
    assert_eq!(ids(store, &one).await, ["b"], "what has not ended has no time");
}

/// A class is found alone and among others, but not as part of a longer name.
pub async fn a_class_among_others_is_found(store: &Arc<dyn Store>) {
    let failures = [
        ("a", "timeout", "x"),
        ("b", "timeout+server_error", "x"),
        ("c", "network+timeout+rate_limit", "x"),
        ("d", "my_timeout", "x"),
        ("e", "", "x"),
    ];
    kill(store, &failures).await;
    let class = |class: &str| Filter { class: Some(class.to_owned()), ..Filter::job("job") };
    assert_eq!(ids(store, &class("timeout")).await, ["a", "b", "c"]);
    assert_eq!(ids(store, &class("server_error")).await, ["b"]);
    assert_eq!(ids(store, &class("timeout+server_error")).await, ["b"]);
    assert_eq!(ids(store, &class("network+timeout")).await, [""; 0]);
    assert_eq!(ids(store, &class("time%")).await, [""; 0]);
    assert_eq!(ids(store, &class("")).await, ["e"]);
}

/// Each item is listed once, in the order of the list rather than the order of the ids.
pub async fn a_list_by_ids_is_in_order(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b", "c", "d"]).await;
    enqueue(store, "other", &["b"]).await;
    let filter = |job: &str| everything().ids(["d", "nobody", "b", "b", job]);
    let of_job = Filter { job: Some("job".to_owned()), ..filter("a") };
    assert_eq!(ids(store, &of_job).await, ["a", "b", "d"]);
    assert_eq!(ids(store, &filter("x")).await, ["b", "d", "b"]);
    let dead = Filter { states: None, ..of_job };
    assert_eq!(ids(store, &dead).await, [""; 0]);
}

/// Failures are grouped by class and signature, the largest group first.
pub async fn like_failures_are_grouped(store: &Arc<dyn Store>) {
    kill(
        store,
        &[
            ("a", "other", "single"),
            ("b", "timeout", "order 1 is bad"),
            ("c", "timeout", "order 2 is bad"),
            ("d", "other", "order 3 is bad"),
            ("e", "timeout", "order 4 is bad"),
            ("f", "other", "order 5 is bad"),
        ],
    )
    .await;
    let groups = store.stats(&Filter::job("job")).await.expect("groups");
    let shape: Vec<_> = groups
        .iter()
        .map(|group| (group.class.as_str(), group.signature.as_str(), group.count))
        .collect();
    assert_eq!(
        shape,
        [
            ("timeout", "order <n> is bad", 3),
            ("other", "order <n> is bad", 2),
            ("other", "single", 1)
        ]
    );
    assert_eq!((groups[0].first, groups[0].last), (at(1), at(4)));
    for group in &groups {
        let example = found(store, &group.example).await.failure.expect("it failed");
        assert_eq!((&example.class, &example.signature), (&group.class, &group.signature));
        assert_eq!(example.message, group.message);
    }
}

/// Only the selected items are grouped, which are dead letters by default.
pub async fn groups_are_filtered(store: &Arc<dyn Store>) {
    kill(store, &[("a", "other", "x"), ("b", "timeout", "x"), ("c", "other", "y")]).await;
    enqueue(store, "job", &["d"]).await;
    let lease = claim_one(store, 5).await;
    settle(store, &lease, 5, Settled::Skipped(Some(failure("other", "x")))).await;
    let total = async |filter: Filter| -> u64 {
        store.stats(&filter).await.expect("groups").iter().map(|group| group.count).sum()
    };
    assert_eq!(total(Filter::job("job")).await, 3);
    assert_eq!(total(everything()).await, 4);
    assert_eq!(total(Filter::job("other")).await, 0);
    assert_eq!(total(Filter::job("job").ids(["a", "d"])).await, 1);
    assert_eq!(total(Filter::job("job").signature("x")).await, 2);
    assert_eq!(total(Filter::default().class("other")).await, 2);
    assert_eq!(total(Filter { since: Some(at(1)), ..Filter::default() }).await, 2);
}

/// A new run has run + 1, attempt 0, no checkpoint and no failure; history and correlation id stay.
pub async fn a_redrive_begins_a_new_run(store: &Arc<dyn Store>) {
    let item = new("a").correlation("trace");
    assert_eq!(store.enqueue("job", vec![item], at(0)).await, Ok(1));
    let lease = claim_one(store, 0).await;
    let checkpoint = Some("half".to_owned());
    settle(store, &lease, 0, Settled::RetryAt { due: at(0), checkpoint }).await;
    claim_one(store, 0).await;
    let lease = claim_one(store, 100).await;
    settle(store, &lease, 101, Settled::Dead(failure("other", "no"))).await;
    assert_eq!(store.redrive(&Filter::job("job"), None, at(200), MINUTE).await, Ok(1));

    let item = found(store, "a").await;
    assert_eq!((item.state, item.run, item.attempt), (ItemState::Pending, 1, 0));
    assert_eq!((item.due, item.ended, item.failure), (Some(at(200)), None, None));
    assert_eq!((item.history.len(), item.correlation.as_str()), (3, "trace"));
    assert!(ids(store, &Filter::job("job")).await.is_empty());
    assert_eq!(store.stats(&Filter::job("job")).await, Ok(Vec::new()));
    nothing_is_due(store, 199).await;
    let again = claim_one(store, 200).await;
    assert_eq!((again.run, again.attempt, again.lost, &again.checkpoint), (1, 1, 0, &None));
    assert_eq!(again.correlation.as_deref(), Some("trace"));
    assert!(again.key.token > lease.key.token, "an old lease stays void");
    assert!(!try_settle(store, &lease, 201, Settled::Released).await);
}

/// The first item is due now, each further one later; no more than `max` are re-driven, the oldest
/// first.
pub async fn a_redrive_is_spread_and_limited(store: &Arc<dyn Store>) {
    kill(store, &[("a", "other", "x"), ("b", "other", "x"), ("c", "other", "x")]).await;
    let every = Duration::from_millis(1500);
    assert_eq!(store.redrive(&Filter::job("job"), Some(2), at(100), every).await, Ok(2));
    assert_eq!(found(store, "a").await.due, Some(at(100)));
    assert_eq!(found(store, "b").await.due, Some(at(100) + every));
    assert_eq!(found(store, "c").await.state, ItemState::Dead);
    assert_eq!(store.redrive(&Filter::job("job"), Some(2), at(100), every).await, Ok(1));
    assert_eq!(store.redrive(&Filter::job("job"), Some(2), at(100), every).await, Ok(0));
}

/// A re-drive takes dead letters by default, and never an item that has not failed.
pub async fn a_redrive_takes_what_its_filter_says(store: &Arc<dyn Store>) {
    kill(store, &[("a", "other", "x"), ("b", "timeout", "x"), ("c", "other", "y")]).await;
    enqueue(store, "job", &["d", "e", "f"]).await;
    let leases = claim(store, 5, 3).await;
    settle(store, &leases[0], 5, Settled::Skipped(None)).await;
    settle(store, &leases[1], 5, Settled::Succeeded(None)).await;
    let now = at(9);
    let redrive = async |filter: Filter| store.redrive(&filter, None, now, MINUTE).await;
    assert_eq!(redrive(Filter::job("other")).await, Ok(0));
    assert_eq!(redrive(Filter::job("job").ids(["a", "d", "e"])).await, Ok(1));
    assert_eq!(redrive(Filter::job("job").class("timeout")).await, Ok(1));
    assert_eq!(redrive(everything()).await, Ok(2), "the dead and the skipped one");
    assert_eq!(found(store, "e").await.state, ItemState::Succeeded);
    assert_eq!(found(store, "f").await.state, ItemState::Leased);
}

/// The item may die of another failure.
pub async fn a_redriven_item_can_die_again(store: &Arc<dyn Store>) {
    kill(store, &[("a", "other", "x")]).await;
    assert_eq!(store.redrive(&Filter::default(), None, at(5), MINUTE).await, Ok(1));
    let lease = claim_one(store, 5).await;
    settle(store, &lease, 6, Settled::Dead(failure("timeout", "y"))).await;
    let item = found(store, "a").await;
    assert_eq!(item.failure.map(|failure| failure.message).as_deref(), Some("y"));
    let runs: Vec<_> = item.history.iter().map(|row| (row.run, row.attempt)).collect();
    assert_eq!(runs, [(0, 1), (1, 1)]);
    assert_eq!(store.stats(&Filter::default()).await.map(|groups| groups.len()), Ok(1));
}

/// Nothing is left of a purged item except its id, so that it is not run again.
pub async fn a_purged_item_is_an_empty_one_that_stays(store: &Arc<dyn Store>) {
    kill(store, &[("a", "other", "x"), ("b", "other", "x")]).await;
    assert_eq!(store.purge(&Filter::job("job").ids(["a"])).await, Ok(1));
    let item = found(store, "a").await;
    assert_eq!((item.state, item.payload.as_str()), (ItemState::Skipped, ""));
    assert_eq!((item.failure, item.history), (None, Vec::new()));
    assert_eq!(ids(store, &Filter::job("job")).await, ["b"]);
    assert_eq!(store.enqueue("job", vec![new("a")], at(9)).await, Ok(0));
    assert_eq!(found(store, "a").await.payload, "");
    // Nothing is left that could be run or purged again.
    let skipped = Filter::job("job").states([ItemState::Skipped]);
    assert_eq!(ids(store, &skipped).await, ["a"]);
    assert_eq!(store.redrive(&skipped, None, at(9), MINUTE).await, Ok(0));
    assert_eq!(store.purge(&skipped).await, Ok(0));
    // An item that has not failed is not purged, whatever the filter says.
    enqueue(store, "job", &["c"]).await;
    assert_eq!(store.purge(&everything()).await, Ok(1));
    assert_eq!(found(store, "c").await.state, ItemState::Pending);
}

/// An item that waits for its next attempt is due at once, and nothing else of it changes.
pub async fn what_waits_is_made_due_and_what_is_leased_is_not(store: &Arc<dyn Store>) {
    enqueue(store, "other", &["a"]).await;
    enqueue(store, "job", &["a", "b", "c", "d"]).await;
    let again = |due| Settled::RetryAt { due: at(due), checkpoint: Some("x".to_owned()) };
    for due in [100, 200, 300] {
        let lease = claim_one(store, 0).await;
        settle(store, &lease, 1, again(due)).await;
    }
    let held = claim_one(store, 0).await;
    nothing_is_due(store, 2).await;
    assert_eq!(store.make_due("job", Waiting::All, 2, at(50)).await, Ok(2));
    assert_eq!(store.make_due("job", Waiting::All, 2, at(50)).await, Ok(1));
    assert_eq!(store.make_due("job", Waiting::All, 2, at(50)).await, Ok(0), "they are due then");
    assert_eq!(store.make_due("none", Waiting::All, 2, at(50)).await, Ok(0));
    nothing_is_due(store, 49).await;
    let mut claimed = Vec::new();
    for _ in 0..3 {
        let lease = claim_one(store, 50).await;
        assert_eq!((lease.attempt, lease.checkpoint.as_deref()), (2, Some("x")));
        claimed.push(lease.id.clone());
        settle(store, &lease, 51, Settled::Succeeded(None)).await;
    }
    claimed.sort();
    assert!(!claimed.contains(&held.id), "{claimed:?}");
    settle(store, &held, 52, Settled::Succeeded(None)).await;
    assert_eq!(counts(store).await.succeeded, 4);
    assert_eq!(store.counts("other").await.map(|counts| counts.pending), Ok(1));
}

/// A cancellation of a job skips pending items, due or not.
pub async fn what_is_pending_is_left_out_and_what_is_leased_is_not(store: &Arc<dyn Store>) {
    enqueue(store, "other", &["a"]).await;
    enqueue(store, "job", &["a", "b", "c", "d"]).await;
    let lease = claim_one(store, 0).await;
    let again = Settled::RetryAt { due: Timestamp::NEVER, checkpoint: Some("x".to_owned()) };
    settle(store, &lease, 1, again).await;
    let held = claim_one(store, 1).await;
    let why = Failure::new("cancelled", "the job was cancelled");
    assert_eq!(store.skip("job", 2, why.clone(), at(2)).await, Ok(2));
    assert_eq!(store.skip("job", 2, why.clone(), at(2)).await, Ok(1));
    assert_eq!(store.skip("job", 2, why.clone(), at(2)).await, Ok(0));
    let counts = counts(store).await;
    assert_eq!((counts.pending, counts.leased, counts.skipped), (0, 1, 3));
    let skipped = Filter::job("job").states([ItemState::Skipped]).class("cancelled");
    assert_eq!(ids(store, &skipped).await.len(), 3);
    assert_eq!(found(store, &lease.id).await.ended, Some(at(2)));
    settle(store, &held, 3, Settled::Succeeded(None)).await;
    nothing_is_due(store, 9).await;
    assert_eq!(store.redrive(&skipped, None, at(9), Duration::ZERO).await, Ok(3));
    assert_eq!(store.counts("other").await.map(|counts| counts.pending), Ok(1));
}

/// The next run of the item begins with the new payload.
pub async fn a_dead_letter_gets_another_payload(store: &Arc<dyn Store>) {
    kill(store, &[("a", "other", "x"), ("b", "other", "x")]).await;
    enqueue(store, "job", &["c"]).await;
    assert_eq!(store.edit("job", "a", "[7]".to_owned()).await, Ok(true));
    assert_eq!(found(store, "a").await.payload, "[7]");
    assert_eq!(store.edit("job", "c", "[7]".to_owned()).await, Ok(false), "it may be running");
    assert_eq!(store.edit("job", "d", "[7]".to_owned()).await, Ok(false));
    assert_eq!(store.edit("none", "a", "[7]".to_owned()).await, Ok(false));
    assert_eq!(store.purge(&Filter::job("job").ids(["b"])).await, Ok(1));
    assert_eq!(store.edit("job", "b", "[7]".to_owned()).await, Ok(false));
    assert_eq!(found(store, "b").await.payload, "");
}
