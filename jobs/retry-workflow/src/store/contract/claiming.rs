//! Claims and leases: who gets which item, and what happens if a worker is lost.

use std::sync::Arc;
use std::time::Duration;

use super::steps::{
    MINUTE, at, claim, claim_in, claim_one, claim_suspect, claimed, counts, enqueue, failure,
    found, names, new, nothing_is_due, overview, prefetch, put_back, settle, waiting,
};
use crate::item::clock::Timestamp;
use crate::item::record::{
    AttemptOutcome, AttemptRecord, Filter, ItemState, Lease, LeaseKey, NewItem, Settled,
    Settlement, Start,
};
use crate::store::{PRIORITIES, Store};

/// Items are claimed by due time; those due at the same time in the order in which they were added.
pub async fn what_is_due_first_is_claimed_first(store: &Arc<dyn Store>) {
    for (id, due) in [("c", 3), ("a", 1), ("b", 1), ("d", 2)] {
        assert_eq!(store.enqueue("job", vec![new(id)], at(due)).await, Ok(1));
    }
    let leases = claim(store, 9, 10).await;
    assert_eq!(names(&leases), ["a", "b", "d", "c"]);
    assert!(leases.iter().all(|lease| lease.payload == new(&lease.id).payload));
}

/// Up to half of a claim is of items whose present run has begun, by due time; then come new ones,
/// however late they were due, and then the rest of those that have begun.
pub async fn what_was_begun_is_claimed_first_and_half_of_the_places_are_for_what_is_new(
    store: &Arc<dyn Store>,
) {
    enqueue(store, "job", &["a", "b", "c", "d", "e"]).await;
    for (lease, due) in claim(store, 1, 5).await.iter().zip([9, 7, 8, 6, 20]) {
        settle(store, lease, 2, Settled::RetryAt { due: at(due), checkpoint: None }).await;
    }
    enqueue(store, "job", &["v", "w", "x", "y", "z"]).await;
    assert_eq!(claimed(store, at(9), 4).await, ["d", "b", "v", "w"]);
    assert_eq!(claimed(store, at(9), 8).await, ["c", "a", "x", "y", "z"], "no more are due");
    assert_eq!(claimed(store, at(20), 8).await, ["e"]);
}

/// The higher the priority, the sooner, even if an item was due later; but half of the places are
/// still for what has begun, and half for what is new.
pub async fn what_has_a_higher_priority_is_claimed_first(store: &Arc<dyn Store>) {
    let ranked = |id: &str, priority| new(id).priority(priority);
    let items = vec![new("a"), ranked("b", 5), ranked("c", -3), ranked("d", 5)];
    assert_eq!(store.enqueue("job", items, at(1)).await, Ok(4));
    assert_eq!(store.enqueue("job", vec![ranked("e", 9)], at(2)).await, Ok(1));
    assert_eq!(store.enqueue("job", vec![ranked("f", 9)], at(50)).await, Ok(1));
    let leases = claim(store, 3, 4).await;
    assert_eq!(names(&leases), ["e", "b", "d", "a"], "f is not due");
    for (lease, due) in leases.iter().zip([9, 8, 7, 6]) {
        settle(store, lease, 4, Settled::RetryAt { due: at(due), checkpoint: None }).await;
    }
    assert_eq!(store.enqueue("job", vec![ranked("g", 1)], at(4)).await, Ok(1));
    assert_eq!(claimed(store, at(10), 4).await, ["e", "d", "g", "c"]);
    assert_eq!(claimed(store, at(10), 4).await, ["b", "a"], "what is left");
}

/// An item keeps its priority, whatever happens to it.
pub async fn a_priority_stays_with_its_item(store: &Arc<dyn Store>) {
    let items = vec![new("middle"), new("first").priority(7), new("last").priority(-9)];
    assert_eq!(store.enqueue("job", items, at(0)).await, Ok(3));
    let ends = [
        None,
        Some(Settled::Released),
        Some(Settled::Deferred { due: at(1), checkpoint: None, for_limit: false }),
        Some(Settled::RetryAt { due: at(1), checkpoint: None }),
        Some(Settled::Dead(failure("other", "no"))),
        Some(Settled::Skipped(None)),
    ];
    for (now, end) in (0..).step_by(100).zip(ends) {
        let leases = claim(store, now, 3).await;
        assert_eq!(names(&leases), ["first", "middle", "last"], "before {end:?}");
        for (id, priority) in [("first", 7), ("middle", 0), ("last", -9)] {
            assert_eq!(found(store, id).await.priority, priority);
        }
        let settle =
            |lease: &Lease| end.clone().map(|end| Settlement::new(lease.key, end, Vec::new()));
        let settled: Vec<_> = leases.iter().filter_map(settle).collect();
        let all = vec![true; settled.len()];
        assert_eq!(store.settle(settled, Vec::new(), at(now)).await, Ok(all));
        let failed =
            if matches!(end, Some(Settled::Dead(_) | Settled::Skipped(_))) { 3 } else { 0 };
        let all = Filter::job("job").states(ItemState::ALL);
        assert_eq!(store.redrive(&all, None, at(now), Duration::ZERO).await, Ok(failed));
    }
}

/// A number below the lowest or above the highest priority counts as that one.
pub async fn a_priority_out_of_range_is_the_nearest(store: &Arc<dyn Store>) {
    let items = vec![new("low").priority(i8::MIN), new("high").priority(i8::MAX)];
    assert_eq!(store.enqueue("job", items, at(0)).await, Ok(2));
    let found = (found(store, "low").await.priority, found(store, "high").await.priority);
    assert_eq!(found, (*PRIORITIES.start(), *PRIORITIES.end()));
    assert_eq!(claimed(store, at(1), 2).await, ["high", "low"]);
}

/// Overviews, suspects, leases that are ended early, and skips: they include every priority.
pub async fn what_is_looked_at_has_every_priority(store: &Arc<dyn Store>) {
    let items = vec![new("a").priority(-4), new("b").priority(4), new("c").priority(4)];
    assert_eq!(store.enqueue("job", items, at(8)).await, Ok(3));
    assert_eq!(overview(store, "job").await.next_due, Some(at(8)));
    assert_eq!((waiting(store, 9).await, waiting(store, 2).await), (3, 2));
    let workers = || vec!["worker".to_owned()];
    for now in [8, 9] {
        assert_eq!(claim(store, now, 9).await.len(), 3);
        assert_eq!(store.expire("job", workers(), at(now)).await, Ok(3));
    }
    assert_eq!(overview(store, "job").await.next_suspect, Some(at(9)));
    nothing_is_due(store, 10).await;
    for id in ["b", "c", "a"] {
        assert_eq!(claim_suspect(store, 10).await.map(|lease| lease.id).as_deref(), Some(id));
    }
    assert_eq!(store.enqueue("job", vec![new("d").priority(2)], at(900)).await, Ok(1));
    assert_eq!(store.skip("job", 9, failure("cancelled", "no"), at(11)).await, Ok(1));
    assert_eq!(found(store, "d").await.state, ItemState::Skipped);
}

/// A claim of an odd number gives the place in the middle to what has begun if its time is odd in
/// microseconds, and to what is new if it is even.
pub async fn claims_of_one_take_turns(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    for lease in claim(store, 1, 3).await {
        settle(store, &lease, 2, Settled::RetryAt { due: at(3), checkpoint: None }).await;
    }
    enqueue(store, "job", &["x", "y", "z"]).await;
    let odd = at(9) + Duration::from_micros(1);
    assert_eq!(claimed(store, at(9), 1).await, ["x"]);
    assert_eq!(claimed(store, odd, 1).await, ["a"]);
    assert_eq!(claimed(store, odd, 3).await, ["b", "c", "y"]);
    assert_eq!(claimed(store, odd, 1).await, ["z"], "nothing else is due");
    nothing_is_due(store, 9).await;
}

/// An item that was lost or dropped has begun; an item that was released before it was started, or
/// is re-driven, is new.
pub async fn an_item_has_begun_if_it_was_claimed_before_in_its_run(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["released", "again", "lost", "dropped", "dead"]).await;
    let leases = prefetch(store, 1, 5, 3).await;
    settle(store, &leases[4], 2, Settled::Dead(failure("other", "no"))).await;
    let again = Settled::RetryAt { due: at(2), checkpoint: None };
    settle(store, &leases[1], 2, again).await;
    let release = |lease: &Lease| Settlement::released(lease.key);
    let [again] = &claim(store, 2, 1).await[..] else { panic!("one is due") };
    let released = vec![release(&leases[0]), release(again)];
    assert_eq!(store.settle(released, Vec::new(), at(3)).await, Ok(vec![true, true]));
    assert_eq!(store.redrive(&Filter::job("job"), None, at(4), MINUTE).await, Ok(1));
    assert_eq!(store.enqueue("job", vec![new("new")], at(5)).await, Ok(1));
    assert_eq!(
        claimed(store, at(100), 6).await,
        ["again", "lost", "dropped", "released", "dead", "new"]
    );
}

/// An item is due at its time, and not before.
pub async fn what_is_not_due_is_not_claimed(store: &Arc<dyn Store>) {
    assert_eq!(store.enqueue("job", vec![new("a")], at(5)).await, Ok(1));
    nothing_is_due(store, 4).await;
    let lease = claim_one(store, 5).await;
    assert_eq!((lease.run, lease.attempt, lease.lost, lease.key.token), (0, 1, 0, 1));
    assert_eq!(lease.checkpoint, None);
    let item = found(store, "a").await;
    assert_eq!((item.state, item.attempt), (ItemState::Leased, 1));
    assert_eq!(item.due, Some(at(5) + MINUTE), "it shows the end of the lease");
}

/// [`Timestamp::NEVER`] never comes.
pub async fn what_is_never_due_is_never_claimed(store: &Arc<dyn Store>) {
    assert_eq!(store.enqueue("job", vec![new("a")], Timestamp::NEVER).await, Ok(1));
    assert!(claimed(store, Timestamp::NEVER, 1).await.is_empty());
    assert_eq!(overview(store, "job").await.next_due, None);
    assert_eq!(found(store, "a").await.due, Some(Timestamp::NEVER));
}

/// A claim respects `max`.
pub async fn no_more_than_asked_for_is_claimed(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    assert_eq!(claim(store, 0, 2).await.len(), 2);
    assert_eq!(claim(store, 0, usize::MAX).await.len(), 1);
}

/// No other worker gets an item before its lease has expired.
pub async fn a_lease_is_exclusive_until_it_ends(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    claim_one(store, 0).await;
    nothing_is_due(store, 59).await;
    claim_one(store, 60).await;
}

/// The next lease has a higher token and attempt; the lost one is in the history.
pub async fn a_lease_that_ended_is_claimed_again_and_counted_as_lost(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    let first = claim_in(store, ("job", "one"), at(5), (1, 1)).await.remove(0);
    let second = claim_in(store, ("job", "two"), at(500), (1, 1)).await.remove(0);
    assert_eq!(first.key.item, second.key.item);
    assert!(second.key.token > first.key.token, "the token fences");
    assert_eq!((second.attempt, second.lost, second.dropped), (2, 1, 0));
    let lost = AttemptRecord {
        duration: MINUTE,
        ..AttemptRecord::new("one", at(5), AttemptOutcome::Lost)
    };
    assert_eq!(found(store, "a").await.history, [lost]);
    let counts = counts(store).await;
    assert_eq!((counts.lost, counts.attempts, counts.leased, counts.pending), (1, 0, 1, 0));
    // Its running time is unknown.
    assert_eq!(counts.worked, Duration::ZERO);
}

/// If an item was claimed ahead, and its worker died before starting it, no attempt was made, and
/// the attempt's number is not used again.
pub async fn a_lease_whose_item_was_not_started_is_dropped(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    assert_eq!(prefetch(store, 0, 1, 0).await.len(), 1);
    let lease = claim_one(store, 100).await;
    assert_eq!((lease.attempt, lease.lost, lease.dropped), (2, 0, 1));
    assert_eq!((found(store, "a").await.history, counts(store).await.lost), (Vec::new(), 0));
    settle(store, &lease, 101, Settled::RetryAt { due: at(110), checkpoint: None }).await;
    let lease = claim_one(store, 110).await;
    assert_eq!((lease.attempt, lease.lost, lease.dropped), (3, 0, 0));
    let attempts: Vec<_> = found(store, "a").await.history.iter().map(|row| row.attempt).collect();
    assert_eq!(attempts, [2]);
}

/// As many items start as there are free slots; the ones after them wait for one.
pub async fn the_first_of_a_claim_start_with_it(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    assert_eq!(prefetch(store, 0, 3, 2).await.len(), 3);
    let leases = claim(store, 100, 3).await;
    let losses: Vec<_> = leases.iter().map(|lease| (lease.lost, lease.dropped)).collect();
    assert_eq!(losses, [(1, 0), (1, 0), (0, 1)]);
    assert_eq!(found(store, "b").await.history[0].started, at(0));
    assert_eq!(counts(store).await.lost, 2);
}

/// The start that was recorded is when the lost attempt began.
pub async fn a_start_is_written_with_a_settlement_or_an_extension(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    let leases = prefetch(store, 0, 3, 1).await;
    let start = |place: usize, now| vec![Start::new(leases[place].key, at(now))];
    let end = Settled::Succeeded(None);
    let settlement = Settlement::new(leases[0].key, end, Vec::new());
    assert_eq!(store.settle(vec![settlement], start(1, 7), at(8)).await, Ok(vec![true]));
    assert_eq!(store.extend(vec![leases[1].key], start(2, 9), at(90)).await, Ok(vec![true]));
    let again = claim(store, 100, 3).await;
    assert!(again.iter().all(|lease| (lease.lost, lease.dropped) == (1, 0)), "{again:?}");
    let (b, c) = (found(store, "b").await, found(store, "c").await);
    assert_eq!((b.history[0].started, b.history[0].duration), (at(7), Duration::from_secs(83)));
    assert_eq!((c.history[0].started, c.history[0].duration), (at(9), Duration::from_secs(51)));
}

/// Only the current lease of an item can record a start, and only while it is held.
pub async fn a_stale_start_is_left_out(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b"]).await;
    let stale = prefetch(store, 0, 2, 0).await;
    settle(store, &stale[1], 1, Settled::RetryAt { due: at(2), checkpoint: None }).await;
    let held = prefetch(store, 100, 1, 0).await;
    assert_eq!(held[0].id, "b");
    let held = prefetch(store, 100, 1, 0).await;
    assert_eq!((held[0].id.as_str(), held[0].dropped), ("a", 1));
    let starts = |now| {
        let mut starts: Vec<_> = stale.iter().map(|lease| Start::new(lease.key, at(now))).collect();
        starts.push(Start::new(LeaseKey { item: -1, token: u64::MAX }, at(now)));
        starts
    };
    assert_eq!(store.settle(Vec::new(), starts(101), at(101)).await, Ok(Vec::new()));
    assert_eq!(store.extend(Vec::new(), starts(101), at(101)).await, Ok(Vec::new()));
    let lease = claim_suspect(store, 300).await.expect("dropped twice");
    assert_eq!((lease.id.as_str(), lease.lost, lease.dropped), ("a", 0, 2));
    assert_eq!(claim_one(store, 300).await.dropped, 1, "of `b`");
}

/// [`Lease::lost`](crate::store::Lease::lost) and [`Lease::dropped`](crate::store::Lease::dropped)
/// are 0 again after a settlement.
pub async fn losses_in_a_row_are_counted_until_one_is_settled(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    assert_eq!(claim_one(store, 0).await.lost, 0);
    assert_eq!(claim_one(store, 100).await.lost, 1);
    let lease = claim_suspect(store, 200).await.expect("it is due");
    assert_eq!((lease.lost, lease.attempt, lease.is_suspect()), (2, 3, true));
    let lease = claim_suspect(store, 300).await.expect("its lease has ended");
    assert_eq!((lease.lost, lease.strikes()), (3, 1));
    settle(store, &lease, 301, Settled::RetryAt { due: at(310), checkpoint: None }).await;
    let lease = claim_one(store, 310).await;
    assert_eq!((lease.lost, lease.attempt, lease.is_suspect()), (0, 5, false));
    assert_eq!(claim_one(store, 400).await.lost, 1);
    assert_eq!(counts(store).await.lost, 4);
}

/// An item that may have killed its workers is kept apart from the others, but not hidden.
pub async fn two_losses_of_any_kind_make_a_suspect(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    assert_eq!(prefetch(store, 0, 2, 1).await.len(), 2);
    assert_eq!(overview(store, "job").await.next_suspect, None);
    assert_eq!(prefetch(store, 100, 2, 0).await[0].id, "a");
    assert_eq!(
        overview(store, "job").await.next_suspect,
        Some(at(160)),
        "when its lease has ended"
    );
    assert!(claim_suspect(store, 159).await.is_none());
    let leases = claim(store, 200, 9).await;
    assert_eq!(names(&leases), ["b", "c"]);
    for lease in &leases {
        settle(store, lease, 200, Settled::Succeeded(None)).await;
    }
    nothing_is_due(store, 200).await;
    assert_eq!(overview(store, "job").await.next_due, Some(at(160)));
    assert_eq!(counts(store).await.leased, 1);
}

/// Each lease of a suspect that expires unsettled is a strike, because the claim started it. After
/// a release it is still a suspect.
pub async fn a_suspect_is_claimed_alone_and_started(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a"]).await;
    assert!(claim_suspect(store, 0).await.is_none(), "it is above suspicion");
    for now in [0, 100] {
        assert_eq!(prefetch(store, now, 1, 0).await.len(), 1);
    }
    for (strikes, now) in (0..4).zip([200, 300, 400, 500]) {
        nothing_is_due(store, now).await;
        let lease = claim_suspect(store, now).await.expect("it is due");
        assert_eq!((lease.strikes(), lease.lost, lease.dropped), (strikes, strikes, 2));
        assert!(claim_suspect(store, now).await.is_none(), "another worker has it");
        if now == 500 {
            settle(store, &lease, now, Settled::Released).await;
        }
    }
    let lease = claim_suspect(store, 500).await.expect("it was released");
    assert_eq!((lease.strikes(), lease.attempt), (3, 6));
    assert_eq!(found(store, "a").await.history.len(), 4, "three were lost, and one says why");
    settle(store, &lease, 501, Settled::Dead(failure("lost", "no"))).await;
    assert_eq!(store.redrive(&Filter::job("job"), None, at(600), MINUTE).await, Ok(1));
    let lease = claim_one(store, 600).await;
    assert_eq!((lease.lost, lease.dropped, lease.run), (0, 0, 1));
}

/// Suspects are claimed by due time, one at a time.
pub async fn suspects_are_claimed_in_their_order(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    assert_eq!(prefetch(store, 0, 3, 0).await.len(), 3);
    for now in [102, 101, 100] {
        assert_eq!(prefetch(store, now, 1, 0).await.len(), 1);
    }
    for id in ["c", "b", "a"] {
        assert_eq!(claim_suspect(store, 300).await.map(|lease| lease.id).as_deref(), Some(id));
    }
    assert!(claim_suspect(store, 300).await.is_none());
    assert_eq!(overview(store, "job").await.next_suspect, Some(at(360)));
    assert_eq!(overview(store, "other").await.next_suspect, None);
}

/// Leases of other workers, and in other jobs, do not end.
pub async fn leases_of_the_dead_end_at_once(store: &Arc<dyn Store>) {
    enqueue(store, "job", &["a", "b", "c", "d"]).await;
    enqueue(store, "other", &["a"]).await;
    for (job, worker, max) in [("job", "one", 2), ("job", "two", 1), ("other", "one", 1)] {
        assert_eq!(claim_in(store, (job, worker), at(0), (max, 1)).await.len(), max);
    }
    let dead = || vec!["one".to_owned(), "nobody".to_owned()];
    assert_eq!(store.expire("nowhere", dead(), at(5)).await, Ok(0));
    assert_eq!(store.expire("job", Vec::new(), at(5)).await, Ok(0));
    assert_eq!(store.expire("job", dead(), at(5)).await, Ok(2));
    assert_eq!(store.expire("job", dead(), at(6)).await, Ok(0), "they have ended");
    let leases = claim(store, 6, 9).await;
    assert_eq!(names(&leases), ["a", "b", "d"]);
    assert_eq!((leases[0].lost, leases[1].dropped), (1, 1));
    assert_eq!(found(store, "a").await.history[0].duration, Duration::from_secs(5));
}

/// Items that were released before they started count, too; those that wait for another attempt do
/// not.
pub async fn what_was_never_leased_is_counted_as_waiting(store: &Arc<dyn Store>) {
    assert_eq!(waiting(store, 9).await, 0);
    enqueue(store, "other", &["a"]).await;
    enqueue(store, "job", &["a", "b", "c", "d", "e"]).await;
    assert_eq!(
        (waiting(store, 9).await, waiting(store, 2).await, waiting(store, 0).await),
        (5, 2, 0)
    );
    let leases = prefetch(store, 0, 4, 2).await;
    assert_eq!(waiting(store, 9).await, 1);
    settle(store, &leases[0], 1, Settled::RetryAt { due: at(9), checkpoint: None }).await;
    settle(store, &leases[1], 1, Settled::Dead(failure("other", "no"))).await;
    put_back(store, &leases[2], 1, Settled::Released).await;
    assert_eq!(waiting(store, 9).await, 2);
    assert_eq!(store.redrive(&Filter::job("job"), None, at(1), MINUTE).await, Ok(1));
    assert_eq!(waiting(store, 9).await, 2);
}

/// A claim ends with the payload that reaches the limit.
pub async fn large_payloads_are_claimed_a_few_at_a_time(store: &Arc<dyn Store>) {
    let payload = "x".repeat(crate::store::MAX_CLAIM_BYTES / 2);
    let items = ["a", "b", "c"].map(|id| NewItem::new(id, payload.clone()));
    assert_eq!(store.enqueue("job", items.into(), at(0)).await, Ok(3));
    assert_eq!(claim(store, 0, 10).await.len(), 2);
    assert_eq!(claim(store, 0, 10).await.len(), 1);
}
