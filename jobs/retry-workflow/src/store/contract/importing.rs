//! Jobs that are removed, exported and imported.

use std::sync::Arc;
use std::time::Duration;

use super::steps::{
    MINUTE, at, claim_in, claim_one, counts, enqueue, everything, found, ids, kill, new, settle,
    try_settle,
};
use crate::item::record::{Counts, Filter, ItemRecord, Settled};
use crate::store::Store;

/// Other jobs stay, and no later item is taken for one that is gone.
pub async fn a_job_is_removed_with_all_that_is_known_of_it(store: &Arc<dyn Store>) {
    enqueue(store, "other", &["a"]).await;
    kill(store, &[("a", "other", "x"), ("b", "other", "x")]).await;
    enqueue(store, "job", &["c"]).await;
    let held = claim_one(store, 9).await;
    assert_eq!(store.cas("k/job", 0, "1").await, Ok(true));
    assert_eq!(store.cas("k/other", 0, "1").await, Ok(true));
    assert_eq!(store.remove("job", 2, vec!["k/job".to_owned()]).await, Ok(2));
    assert_eq!(store.get("k/job").await, Ok(Some((1, "1".to_owned()))), "an item is left");
    assert_eq!(store.remove("job", 2, vec!["k/job".to_owned()]).await, Ok(1));
    assert_eq!(store.remove("job", 2, Vec::new()).await, Ok(0));
    assert_eq!((store.get("k/job").await, counts(store).await), (Ok(None), Counts::default()));
    assert_eq!(store.values("k/").await.map(|values| values.len()), Ok(1));
    let left: Vec<_> = store.list(&everything(), None, 9).await.expect("a page").items;
    assert_eq!(left.iter().map(|item| &*item.job).collect::<Vec<_>>(), ["other"]);
    assert_eq!(store.stats(&everything()).await.map(|groups| groups.len()), Ok(0));

    assert_eq!(store.enqueue("job", vec![new("c")], at(9)).await, Ok(1));
    let anew = claim_one(store, 9).await;
    assert_ne!(anew.key.item, held.key.item);
    assert!(!try_settle(store, &held, 10, Settled::Released).await);
    assert_eq!((anew.attempt, found(store, "c").await.history), (1, Vec::new()));
}

/// An item moves to another job, or store, with its whole history.
pub async fn what_is_exported_can_be_imported(store: &Arc<dyn Store>) {
    kill(store, &[("a", "other", "x"), ("b", "timeout", "order 17")]).await;
    enqueue(store, "job", &["c", "d"]).await;
    let lease = claim_one(store, 7).await;
    settle(store, &lease, 7, Settled::Succeeded(Some("out".to_owned()))).await;
    assert_eq!(store.purge(&Filter::job("job").ids(["a"])).await, Ok(1));
    let mut items = Vec::new();
    for id in ["a", "b", "c", "d"] {
        let item = found(store, id).await;
        items.push(ItemRecord { job: "copy".to_owned(), ..item });
    }
    assert_eq!(store.import(items.clone(), at(0)).await, Ok(4));
    for item in &items {
        assert_eq!(store.item("copy", &item.id).await, Ok(Some(item.clone())));
    }
    let mut expected = counts(store).await;
    // The history of the purged item was not exported.
    expected.attempts -= 1;
    expected.worked -= Duration::from_secs(1);
    expected.waited -= Duration::from_secs(2);
    assert_eq!(store.counts("copy").await, Ok(expected));
    assert_eq!(ids(store, &Filter::job("copy")).await, ["b"]);
    assert_eq!(store.stats(&Filter::job("copy")).await.map(|groups| groups.len()), Ok(1));
    // The copy keeps the correlation of the original, and can continue.
    assert_eq!(store.redrive(&Filter::job("copy"), None, at(50), MINUTE).await, Ok(1));
    let leases = claim_in(store, ("copy", "worker"), at(50), (9, 9)).await;
    let correlations: Vec<_> = leases.iter().map(|lease| lease.correlation.as_deref()).collect();
    assert_eq!(correlations, [Some("job/d"), Some("job/b")]);
    settle(store, &leases[1], 51, Settled::Succeeded(None)).await;
    let item = store.item("copy", "b").await.expect("read").expect("there");
    assert_eq!(item.history.len(), 2);
}

/// Items that were pending or leased elsewhere are due here and now, with their checkpoints.
pub async fn an_import_begins_anew_what_was_not_done(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b"]).await;
    let lease = claim_one(store, 0).await;
    let checkpoint = Some("{\"step\":2}".to_owned());
    let end = Settled::RetryAt { due: at(500), checkpoint: checkpoint.clone() };
    settle(store, &lease, 1, end).await;
    claim_one(store, 1).await;
    let mut items = vec![found(store, "a").await, found(store, "b").await];
    for item in &mut items {
        "copy".clone_into(&mut item.job);
    }
    assert_eq!(store.import(items, at(40)).await, Ok(2));
    let leases = claim_in(store, ("copy", "worker"), at(40), (9, 9)).await;
    let attempts: Vec<_> = leases.iter().map(|lease| (lease.id.as_str(), lease.attempt)).collect();
    assert_eq!(attempts, [("a", 2), ("b", 2)]);
    assert_eq!((&leases[0].checkpoint, &leases[1].checkpoint), (&checkpoint, &None));
    let counts = store.counts("copy").await.expect("counts");
    assert_eq!((counts.leased, counts.attempts, counts.lost), (2, 1, 0));
}

/// Items are compared by id, both with the store and within the import.
pub async fn an_import_leaves_what_is_there(store: &Arc<dyn Store>) {
    kill(store, &[("a", "other", "x")]).await;
    let old = found(store, "a").await;
    let other = ItemRecord { payload: "other".to_owned(), ..old.clone() };
    let new = ItemRecord { id: "b".to_owned(), ..old.clone() };
    let items = vec![other, new.clone(), new];
    assert_eq!(store.import(items, at(5)).await, Ok(1));
    assert_eq!(found(store, "a").await, old);
    assert_eq!(counts(store).await.attempts, 2);
}
