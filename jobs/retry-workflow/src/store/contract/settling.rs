//! Settling: the end of an attempt, the leases that are still held, and the counts.

use std::sync::Arc;
use std::time::Duration;

use super::steps::{
    FAILED, MINUTE, at, claim, claim_one, claim_suspect, claimed, counts, enqueue, everything,
    failure, found, ids, names, new, nothing_is_due, overview, put_back, row, settle, try_settle,
};
use crate::item::record::{
    Counts, Filter, ItemState, Lease, LeaseKey, Settled, Settlement, Waiting,
};
use crate::store::Store;

/// A worker may be late as long as no other has claimed the item.
pub async fn a_lease_that_ended_can_be_settled_until_it_is_claimed_again(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    settle(store, &lease, 900, Settled::Succeeded(None)).await;
    let item = found(store, "a").await;
    assert_eq!((item.state, item.ended), (ItemState::Succeeded, Some(at(900))));
    assert_eq!(counts(store).await.lost, 0);
}

/// A settlement with a lease that has been superseded changes nothing at all.
pub async fn a_stale_settlement_writes_nothing(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let stale = claim_one(store, 0).await;
    let held = claim_one(store, 100).await;
    let before = (found(store, "a").await, counts(store).await);
    for end in [
        Settled::Succeeded(Some("1".to_owned())),
        Settled::RetryAt { due: at(0), checkpoint: Some("p".to_owned()) },
        Settled::Dead(failure("other", "late")),
        Settled::Skipped(Some(failure("other", "late"))),
        Settled::Released,
        Settled::Deferred { due: at(0), checkpoint: Some("p".to_owned()), for_limit: false },
    ] {
        assert!(!try_settle(store, &stale, 101, end.clone()).await, "{end:?} is refused");
        assert_eq!((found(store, "a").await, counts(store).await), before, "{end:?}");
    }
    let dead = Filter::job("job").states(FAILED);
    assert_eq!(store.stats(&dead).await, Ok(Vec::new()));
    // Nor beside a valid settlement of the same item.
    let both = [&stale, &held].map(|lease| {
        let history = vec![row(lease, 102, false)];
        Settlement::new(lease.key, Settled::Succeeded(None), history)
    });
    assert_eq!(store.settle(both.into(), Vec::new(), at(102)).await, Ok(vec![false, true]));
    assert_eq!(found(store, "a").await.history.len(), 2, "the one that was lost, and this one");
}

/// The second settlement of a lease is refused, even in the same batch.
pub async fn a_lease_is_settled_once(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    let end = || Settled::RetryAt { due: at(500), checkpoint: None };
    let settlement = || Settlement::new(lease.key, end(), vec![row(&lease, 1, true)]);
    assert_eq!(
        store.settle(vec![settlement(), settlement()], Vec::new(), at(1)).await,
        Ok(vec![true, false])
    );
    assert!(!try_settle(store, &lease, 2, end()).await);
    assert_eq!(found(store, "a").await.history.len(), 1);
    assert_eq!(counts(store).await.attempts, 1);
}

/// An item or a token that the store never issued is refused like a stale one.
pub async fn an_unknown_lease_is_refused(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    for key in [
        LeaseKey { item: lease.key.item + 1000, token: 1 },
        LeaseKey { item: -1, token: 1 },
        LeaseKey { token: 0, ..lease.key },
        LeaseKey { token: u64::MAX, ..lease.key },
    ] {
        let settlement = Settlement::released(key);
        assert_eq!(
            store.settle(vec![settlement], Vec::new(), at(1)).await,
            Ok(vec![false]),
            "{key:?}"
        );
        assert_eq!(store.extend(vec![key], Vec::new(), at(900)).await, Ok(vec![false]), "{key:?}");
    }
}

/// An item that has succeeded is never due again, and its output can be read.
pub async fn success_keeps_the_output(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    settle(store, &lease, 3, Settled::Succeeded(Some("{\"n\":1}".to_owned()))).await;
    let item = found(store, "a").await;
    assert_eq!((item.state, item.due, item.ended), (ItemState::Succeeded, None, Some(at(3))));
    assert_eq!(item.output.as_deref(), Some("{\"n\":1}"));
    assert_eq!((item.failure, item.attempt), (None, 1));
    assert_eq!(item.history, [row(&lease, 3, false)]);
    nothing_is_due(store, 1_000_000).await;
}

/// The store holds the wait between attempts, and the checkpoint for the next one.
pub async fn a_retry_comes_back_when_it_is_due_with_its_checkpoint(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    let checkpoint = Some("half".to_owned());
    settle(store, &lease, 1, Settled::RetryAt { due: at(30), checkpoint: checkpoint.clone() })
        .await;
    let item = found(store, "a").await;
    assert_eq!((item.state, item.due, item.ended), (ItemState::Pending, Some(at(30)), None));
    nothing_is_due(store, 29).await;
    let lease = claim_one(store, 30).await;
    assert_eq!((lease.attempt, &lease.checkpoint), (2, &checkpoint));
    // A checkpoint that is not given again is gone.
    settle(store, &lease, 31, Settled::RetryAt { due: at(31), checkpoint: None }).await;
    assert_eq!(claim_one(store, 31).await.checkpoint, None);
}

/// State, history and dead letter change at once.
pub async fn a_dead_letter_keeps_its_failure(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    let why = failure("timeout+server_error", "order 17: HTTP 503");
    settle(store, &lease, 4, Settled::Dead(why.clone())).await;
    let item = found(store, "a").await;
    assert_eq!((item.state, item.due, item.ended), (ItemState::Dead, None, Some(at(4))));
    assert_eq!(item.failure, Some(why));
    assert_eq!(item.history, [row(&lease, 4, true)]);
    assert_eq!(ids(store, &Filter::job("job")).await, ["a"]);
    nothing_is_due(store, 1_000_000).await;
}

/// An item may be skipped with or without a failure.
pub async fn a_skipped_item_needs_no_reason(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b"]).await;
    let leases = claim(store, 0, 2).await;
    settle(store, &leases[0], 1, Settled::Skipped(None)).await;
    let why = failure("dependency", "\"load\" failed");
    settle(store, &leases[1], 1, Settled::Skipped(Some(why.clone()))).await;
    let (a, b) = (found(store, "a").await, found(store, "b").await);
    assert_eq!((a.state, a.failure), (ItemState::Skipped, None));
    assert_eq!((b.state, b.failure), (ItemState::Skipped, Some(why)));
    let skipped = Filter::job("job").states([ItemState::Skipped]);
    assert_eq!(ids(store, &skipped).await, ["a", "b"]);
    assert_eq!(store.stats(&skipped).await.map(|groups| groups.len()), Ok(1));
}

/// A released item is due at once, as if it had not been claimed; its old lease is void.
pub async fn a_release_takes_the_attempt_back(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    let release = Settlement::released(lease.key);
    assert_eq!(store.settle(vec![release.clone()], Vec::new(), at(7)).await, Ok(vec![true]));
    let item = found(store, "a").await;
    assert_eq!((item.state, item.attempt, item.due), (ItemState::Pending, 0, Some(at(7))));
    assert!(item.history.is_empty());
    let again = claim_one(store, 7).await;
    assert_eq!(again.attempt, 1);
    assert!(again.key.token > lease.key.token);
    assert_eq!(store.settle(vec![release], Vec::new(), at(8)).await, Ok(vec![false]));
}

/// A release gives back the lease, and nothing else.
pub async fn a_release_keeps_losses_and_checkpoint(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    let checkpoint = Some("half".to_owned());
    settle(store, &lease, 1, Settled::RetryAt { due: at(1), checkpoint: checkpoint.clone() }).await;
    claim_one(store, 1).await;
    let lease = claim_one(store, 100).await;
    assert_eq!((lease.attempt, lease.lost, &lease.checkpoint), (3, 1, &checkpoint));
    put_back(store, &lease, 101, Settled::Released).await;
    let lease = claim_one(store, 101).await;
    assert_eq!((lease.attempt, lease.lost, &lease.checkpoint), (3, 1, &checkpoint));
}

/// A deferred item is due when it says, as if it had not been claimed; then it comes before what is
/// new. Its losses stay, and its checkpoint is the one that it was given.
pub async fn a_deferred_item_waits_uncounted_and_then_comes_first(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    let checkpoint = Some("slot".to_owned());
    let defer = async |lease: &Lease, now, due, checkpoint| {
        let end = Settled::Deferred { due: at(due), checkpoint, for_limit: false };
        put_back(store, lease, now, end).await;
    };
    defer(&lease, 1, 30, checkpoint.clone()).await;
    let item = found(store, "a").await;
    assert_eq!((item.state, item.attempt, item.due), (ItemState::Pending, 0, Some(at(30))));
    nothing_is_due(store, 29).await;
    enqueue(store, "job", &["b", "c"]).await;
    let leases = claim(store, 30, 2).await;
    assert_eq!(names(&leases), ["a", "b"]);
    assert_eq!((leases[0].attempt, &leases[0].checkpoint), (1, &checkpoint));

    // Its worker is lost; the next one defers it again.
    let a = async |now| {
        let leases = claim(store, now, 3).await;
        leases.into_iter().find(|lease| lease.id == "a").expect("it is due")
    };
    let lost = a(1_000).await;
    assert_eq!((lost.attempt, lost.lost), (2, 1));
    defer(&lost, 1_001, 1_001, None).await;
    let again = a(1_001).await;
    assert_eq!((again.attempt, again.lost, &again.checkpoint), (2, 1, &None));
}

/// [`Waiting::ForLimit`] makes items due that were deferred for a limit, up to a number. Items that
/// were deferred for another reason, retries and new items stay as they are.
pub async fn only_items_deferred_for_a_limit_are_made_due_with_it(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["deferred", "postponed", "retried", "suspect", "begun"]).await;
    for round in 0..2 {
        // The suspect, and an item that has begun, lose their leases.
        for lease in claim(store, round * 100, 5).await {
            let for_limit = lease.id != "postponed";
            let defer = Settled::Deferred { due: at(9_000), checkpoint: None, for_limit };
            match (lease.id.as_str(), round) {
                ("deferred" | "postponed", 0) => settle(store, &lease, 1, defer).await,
                ("retried", 0) => {
                    let retry = Settled::RetryAt { due: at(9_000), checkpoint: None };
                    settle(store, &lease, 1, retry).await;
                }
                ("begun", 1) => settle(store, &lease, 101, defer).await,
                _ => {}
            }
        }
    }
    let suspect = claim_suspect(store, 200).await.expect("claimed");
    let defer = Settled::Deferred { due: at(9_000), checkpoint: None, for_limit: true };
    settle(store, &suspect, 201, defer).await;
    store.enqueue("job", vec![new("later")], at(9_000)).await.expect("enqueued");
    nothing_is_due(store, 300).await;

    assert_eq!(store.make_due("nothing", Waiting::ForLimit, 10, at(300)).await, Ok(0));
    assert_eq!(store.make_due("job", Waiting::ForLimit, 2, at(300)).await, Ok(2));
    assert_eq!(store.make_due("job", Waiting::ForLimit, 10, at(300)).await, Ok(1));
    assert_eq!(
        store.make_due("job", Waiting::ForLimit, 10, at(300)).await,
        Ok(0),
        "they are due now"
    );
    let mut due = claimed(store, at(300), 10).await;
    due.sort();
    assert_eq!(due, ["begun", "deferred"]);
    assert!(claim_suspect(store, 300).await.is_some());
}

/// A heartbeat renews a lease.
pub async fn an_extended_lease_ends_later(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    assert_eq!(store.extend(vec![lease.key], Vec::new(), at(500)).await, Ok(vec![true]));
    assert_eq!(overview(store, "job").await.next_due, Some(at(500)));
    nothing_is_due(store, 499).await;
    // An expired lease can be renewed, too, as long as no other worker has the item.
    assert_eq!(store.extend(vec![lease.key], Vec::new(), at(900)).await, Ok(vec![true]));
    nothing_is_due(store, 899).await;
    settle(store, &lease, 899, Settled::Succeeded(None)).await;
}

/// A heartbeat that was delayed does not shorten the lease.
pub async fn an_extension_never_shortens_a_lease(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    assert_eq!(store.extend(vec![lease.key], Vec::new(), at(10)).await, Ok(vec![true]));
    assert_eq!(overview(store, "job").await.next_due, Some(at(60)));
}

/// A heartbeat with a lease that has been superseded does not renew another worker's lease.
pub async fn a_stale_extension_is_refused(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b"]).await;
    let stale = claim_one(store, 0).await;
    let other = claim_one(store, 0).await;
    settle(store, &other, 0, Settled::Succeeded(None)).await;
    let held = claim_one(store, 100).await;
    let keys = vec![stale.key, held.key, other.key];
    assert_eq!(store.extend(keys, Vec::new(), at(500)).await, Ok(vec![false, true, false]));
    assert_eq!(found(store, "a").await.due, Some(at(500)));
    assert_eq!(found(store, "b").await.due, None);
}

/// A batch may mix valid and refused settlements.
pub async fn settlements_answer_in_their_order(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    let leases = claim(store, 0, 3).await;
    settle(store, &leases[1], 1, Settled::Succeeded(None)).await;
    let settlements: Vec<_> = leases
        .iter()
        .map(|lease| {
            Settlement::new(
                lease.key,
                Settled::Dead(failure("other", "no")),
                vec![row(lease, 2, true)],
            )
        })
        .collect();
    assert_eq!(store.settle(settlements, Vec::new(), at(2)).await, Ok(vec![true, false, true]));
    let counts = counts(store).await;
    assert_eq!((counts.succeeded, counts.dead, counts.attempts), (1, 2, 3));
}

/// It is the earliest due time or end of a lease; `None` once everything has ended.
pub async fn the_next_due_time_is_that_of_items_and_leases(store: &Arc<dyn Store>) {
    assert_eq!(store.enqueue("job", vec![new("a")], at(5)).await, Ok(1));
    assert_eq!(store.enqueue("job", vec![new("b")], at(90)).await, Ok(1));
    assert_eq!(overview(store, "job").await.next_due, Some(at(5)));
    let a = claim_one(store, 5).await;
    assert_eq!(overview(store, "job").await.next_due, Some(at(65)));
    settle(store, &a, 6, Settled::Succeeded(None)).await;
    assert_eq!(overview(store, "job").await.next_due, Some(at(90)));
    let b = claim_one(store, 90).await;
    settle(store, &b, 91, Settled::Succeeded(None)).await;
    assert_eq!(overview(store, "job").await.next_due, None);
}

/// The counts are right after each step.
pub async fn counts_follow_the_items(store: &Arc<dyn Store>) {
    let states = |counts: Counts| {
        [counts.pending, counts.leased, counts.succeeded, counts.dead, counts.skipped]
    };
    enqueue(store, "job", &["a", "b", "c", "d"]).await;
    assert_eq!(states(counts(store).await), [4, 0, 0, 0, 0]);
    let leases = claim(store, 0, 4).await;
    assert_eq!(states(counts(store).await), [0, 4, 0, 0, 0]);
    settle(store, &leases[0], 1, Settled::Succeeded(None)).await;
    assert_eq!(states(counts(store).await), [0, 3, 1, 0, 0]);
    settle(store, &leases[1], 1, Settled::Dead(failure("other", "no"))).await;
    assert_eq!(states(counts(store).await), [0, 2, 1, 1, 0]);
    settle(store, &leases[2], 1, Settled::Skipped(None)).await;
    assert_eq!(states(counts(store).await), [0, 1, 1, 1, 1]);
    settle(store, &leases[3], 1, Settled::RetryAt { due: at(2), checkpoint: None }).await;
    assert_eq!(states(counts(store).await), [1, 0, 1, 1, 1]);
    let now = counts(store).await;
    assert_eq!((now.attempts, now.lost), (4, 0));
    assert_eq!((now.worked, now.waited), (Duration::from_secs(4), Duration::from_secs(4)));

    let failed = Filter::job("job").states(FAILED);
    assert_eq!(store.redrive(&failed, Some(1), at(5), MINUTE).await, Ok(1));
    assert_eq!(states(counts(store).await), [2, 0, 1, 0, 1]);
    let lease = claim(store, 5, 2).await.remove(1);
    settle(store, &lease, 6, Settled::Dead(failure("other", "no"))).await;
    assert_eq!(states(counts(store).await), [0, 1, 1, 1, 1]);
    assert_eq!(store.purge(&failed).await, Ok(2));
    assert_eq!(states(counts(store).await), [0, 1, 1, 0, 2]);
    assert_eq!(counts(store).await.attempts, 5, "what was done stays counted");
}

/// The history keeps several rows of one settlement, of several attempts, and of several runs.
pub async fn attempts_are_kept_in_their_order(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let mut written = Vec::new();
    for run in 0..3 {
        for second in 0..12 {
            let now = run * 1000 + second;
            let lease = claim_one(store, now).await;
            let mut rows = vec![row(&lease, now, true), row(&lease, now, true)];
            rows[1].step = None;
            written.extend(rows.clone());
            let end = if second == 11 {
                Settled::Dead(failure("other", "no"))
            } else {
                Settled::RetryAt { due: at(now), checkpoint: None }
            };
            let settlement = Settlement::new(lease.key, end, rows);
            assert_eq!(store.settle(vec![settlement], Vec::new(), at(now)).await, Ok(vec![true]));
        }
        let due = at(run * 1000 + 1000);
        assert_eq!(store.redrive(&Filter::job("job"), None, due, MINUTE).await, Ok(1));
    }
    assert_eq!(found(store, "a").await.history, written);
    let list = store.list(&everything(), None, 1).await.expect("a page");
    assert!(list.items[0].history.is_empty(), "lists are without histories");
}
