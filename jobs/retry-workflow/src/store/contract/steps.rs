//! Steps that many of the behaviours share.

use std::sync::Arc;
use std::time::Duration;

use crate::item::clock::Timestamp;
use crate::item::failure::Failure;
use crate::item::record::{
    AttemptOutcome, AttemptRecord, Counts, Filter, ItemRecord, ItemState, Lease, NewItem,
    Selection, Settled, Settlement,
};
use crate::item::summary::Overview;
use crate::store::Store;

pub(super) const MINUTE: Duration = Duration::from_secs(60);

/// A time, in seconds after the one at which all tests begin.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros((1_800_000_000 + seconds) * 1_000_000)
}

pub(super) fn new(id: &str) -> NewItem {
    NewItem::new(id, format!("{{\"id\":\"{id}\"}}"))
}

pub(super) async fn enqueue(store: &Arc<dyn Store>, job: &str, ids: &[&str]) {
    let items: Vec<_> = ids.iter().map(|id| new(id)).collect();
    let added = store.enqueue(job, items, at(0)).await.expect("enqueued");
    assert_eq!(added, ids.len() as u64, "all of them are new");
}

pub(super) async fn claim(store: &Arc<dyn Store>, now: i64, max: usize) -> Vec<Lease> {
    claim_in(store, ("job", "worker"), at(now), (max, max)).await
}

/// Claims up to `max` items of a job for a worker, and starts the first `starts`.
pub(super) async fn claim_in(
    store: &Arc<dyn Store>,
    (job, worker): (&str, &str),
    now: Timestamp,
    (max, starts): (usize, usize),
) -> Vec<Lease> {
    let selection = Selection::Items { max, starts };
    store.claim(job, worker, now, selection, MINUTE).await.expect("claimed")
}

/// The ids of leased items, in order.
pub(super) fn names(leases: &[Lease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.id.as_str()).collect()
}

/// Claims what is due, and returns the ids.
pub(super) async fn claimed(store: &Arc<dyn Store>, now: Timestamp, max: usize) -> Vec<String> {
    let leases = claim_in(store, ("job", "worker"), now, (max, max)).await;
    leases.into_iter().map(|lease| lease.id).collect()
}

pub(super) async fn claim_one(store: &Arc<dyn Store>, now: i64) -> Lease {
    let mut leases = claim(store, now, 1).await;
    assert_eq!(leases.len(), 1, "an item is due");
    leases.remove(0)
}

/// Claims what is due, and starts the first `starts` items.
pub(super) async fn prefetch(
    store: &Arc<dyn Store>,
    now: i64,
    max: usize,
    starts: usize,
) -> Vec<Lease> {
    claim_in(store, ("job", "worker"), at(now), (max, starts)).await
}

pub(super) async fn claim_suspect(store: &Arc<dyn Store>, now: i64) -> Option<Lease> {
    let claimed = store.claim("job", "worker", at(now), Selection::Suspect, MINUTE).await;
    let mut leases = claimed.expect("claimed, or nothing");
    assert!(leases.len() <= 1, "one at a time");
    leases.pop()
}

pub(super) async fn nothing_is_due(store: &Arc<dyn Store>, now: i64) {
    let leases = claim(store, now, 10).await;
    assert!(leases.is_empty(), "nothing is due, and yet: {leases:?}");
}

pub(super) async fn settle(store: &Arc<dyn Store>, lease: &Lease, now: i64, end: Settled) {
    assert!(try_settle(store, lease, now, end).await, "the lease is good");
}

/// Settles a lease without a row in the history.
pub(super) async fn put_back(store: &Arc<dyn Store>, lease: &Lease, now: i64, end: Settled) {
    let settlement = Settlement::new(lease.key, end, Vec::new());
    assert_eq!(store.settle(vec![settlement], Vec::new(), at(now)).await, Ok(vec![true]));
}

pub(super) async fn try_settle(
    store: &Arc<dyn Store>,
    lease: &Lease,
    now: i64,
    end: Settled,
) -> bool {
    let failed = matches!(end, Settled::RetryAt { .. } | Settled::Dead(_));
    let history = vec![row(lease, now, failed)];
    let settlements = vec![Settlement::new(lease.key, end, history)];
    let settled = store.settle(settlements, Vec::new(), at(now)).await.expect("settled or refused");
    assert_eq!(settled.len(), 1);
    settled[0]
}

/// An attempt that took one second, with a wait of two if it failed.
pub(super) fn row(lease: &Lease, now: i64, failed: bool) -> AttemptRecord {
    AttemptRecord {
        run: lease.run,
        attempt: lease.attempt,
        started: at(now - 1),
        duration: Duration::from_secs(1),
        wait: Duration::from_secs(if failed { 2 } else { 0 }),
        worker: Arc::from("worker"),
        step: failed.then(|| "second".to_owned()),
        outcome: if failed { AttemptOutcome::Failed } else { AttemptOutcome::Succeeded },
        failure: failed.then(|| failure("server_error", "HTTP 503")),
        output: (!failed).then(|| "done\n".to_owned()),
    }
}

pub(super) fn failure(class: &str, message: &str) -> Failure {
    let mut failure = Failure::new(class, message);
    failure.chain = vec!["inner \"one\"".to_owned(), "innermost".to_owned()];
    failure.culprits = vec!["a`, `b".to_owned(), "two\n\"lines\"".to_owned()];
    failure
}

/// Enqueues, claims and settles items as dead, with failures of these classes and messages, one
/// second after the other.
pub(super) async fn kill(store: &Arc<dyn Store>, failures: &[(&str, &str, &str)]) {
    for (second, (id, class, message)) in (0_i64..).zip(failures) {
        enqueue(store, "job", &[id]).await;
        let lease = claim_one(store, second).await;
        settle(store, &lease, second, Settled::Dead(failure(class, message))).await;
    }
}

pub(super) async fn counts(store: &Arc<dyn Store>) -> Counts {
    store.counts("job").await.expect("counts")
}

pub(super) async fn overview(store: &Arc<dyn Store>, job: &str) -> Overview {
    store.overview(job, 0).await.expect("an overview")
}

/// Returns how many items wait to be leased for the first time, counted up to `most`.
pub(super) async fn waiting(store: &Arc<dyn Store>, most: u64) -> u64 {
    store.overview("job", most).await.expect("an overview").waiting
}

pub(super) async fn found(store: &Arc<dyn Store>, id: &str) -> ItemRecord {
    store.item("job", id).await.expect("read").expect("the item is there")
}

/// Dead letters and skipped items.
pub(super) const FAILED: [ItemState; 2] = [ItemState::Dead, ItemState::Skipped];

/// The ids of all items that a filter selects, in order, in pages of two.
pub(super) async fn ids(store: &Arc<dyn Store>, filter: &Filter) -> Vec<String> {
    let mut ids = Vec::new();
    let mut after = None;
    loop {
        let page = store.list(filter, after, 2).await.expect("a page");
        assert!(page.items.len() <= 2, "a page holds no more than requested");
        ids.extend(page.items.into_iter().map(|item| item.id));
        match page.next {
            Some(next) => {
                assert!(after.is_none_or(|after| after < next), "a list goes on");
                after = Some(next);
            }
            None => return ids,
        }
    }
}

pub(super) fn everything() -> Filter {
    Filter::default().states(ItemState::ALL)
}
