//! What every store has to do, as functions for the tests of a store.
//!
//! Each function is one behaviour: it takes an empty store, and panics if the store does something
//! else. [`store_contract!`](crate::store_contract) makes a test of each of them:
//!
//! ```no_run
//! # use retry_workflow::store::MemoryStore as MyStore;
//! // In `tests/my_store.rs`. What is beside the store lives as long as the test does:
//! // the folder that the store is in, or nothing.
//! retry_workflow::store_contract!(|| (MyStore::new(), ()));
//! # fn main() {}
//! ```
//!
//! For a store that is opened asynchronously, or is not available everywhere, use
//! `store_contract!(async make)`: the future `make()` returns `Some((store, guard))`, or `None` to
//! skip the test.
//!
//! Time is passed in, in whole seconds; no test waits, except for a store that finds changes by
//! polling.

// Assertions fail where a store breaks the contract.
#![allow(clippy::missing_panics_doc, reason = "a panic is how each of these says no")]

mod steps;
mod summaries;

use std::sync::Arc;
use std::time::Duration;

use self::steps::{
    MINUTE, at, claim, claim_one, claim_suspect, counts, enqueue, everything, failure, found, ids,
    kill, new, nothing_is_due, prefetch, row, settle, try_settle,
};
pub use self::summaries::{
    a_job_that_was_removed_has_no_summaries, a_long_look_is_cut_short_and_goes_on,
    groups_follow_the_items, groups_have_their_hours, jobs_are_listed_with_the_newest_first,
    minutes_have_what_ended_in_them, summaries_are_those_of_the_items,
};
use super::{Store, StoreError};
use crate::item::clock::Timestamp;
use crate::item::failure::Failure;
use crate::item::record::{
    AttemptOutcome, AttemptRecord, Counts, Cursor, Filter, ItemRecord, ItemState, LeaseKey,
    NewItem, Settled, Settlement, Start,
};

/// Defines a test for each behaviour of the contract of stores.
///
/// Takes a closure that creates an empty store, and whatever has to live as long as it: `|| (store,
/// guard)`; or, after the word `async`, a function whose future returns `Some((store, guard))`. The
/// crate that uses it needs tokio with `macros` and `rt`.
#[macro_export]
macro_rules! store_contract {
    (async $make:expr) => {
        $crate::store_contract!(@list $make;);
    };
    ($make:expr) => {
        $crate::store_contract!(@list || ::std::future::ready(Some(($make)())););
    };
    (@list $make:expr;) => {
        $crate::store_contract!(@tests $make;
            an_item_is_added_once
            an_empty_batch_is_nothing
            a_job_that_nobody_knows_is_empty
            jobs_are_apart
            the_correlation_is_that_of_the_item_or_its_name
            what_is_due_first_is_claimed_first
            what_is_not_due_is_not_claimed
            what_is_never_due_is_never_claimed
            no_more_than_asked_for_is_claimed
            large_payloads_are_claimed_a_few_at_a_time
            a_lease_is_exclusive_until_it_ends
            a_lease_that_ended_is_claimed_again_and_counted_as_lost
            a_lease_whose_item_was_not_started_is_dropped
            the_first_of_a_claim_start_with_it
            a_start_is_written_with_a_settlement_or_an_extension
            a_stale_start_is_left_out
            losses_in_a_row_are_counted_until_one_is_settled
            two_losses_of_any_kind_make_a_suspect
            a_suspect_is_claimed_alone_and_started
            suspects_are_claimed_in_their_order
            leases_of_the_dead_end_at_once
            what_was_never_leased_is_counted_as_waiting
            a_lease_that_ended_can_be_settled_until_it_is_claimed_again
            a_stale_settlement_writes_nothing
            a_lease_is_settled_once
            an_unknown_lease_is_refused
            success_keeps_the_output
            a_retry_comes_back_when_it_is_due_with_its_checkpoint
            a_dead_letter_keeps_its_failure
            a_skipped_item_needs_no_reason
            a_release_takes_the_attempt_back
            a_release_keeps_losses_and_checkpoint
            an_extended_lease_ends_later
            an_extension_never_shortens_a_lease
            a_stale_extension_is_refused
            settlements_answer_in_their_order
            the_next_due_time_is_that_of_items_and_leases
            counts_follow_the_items
            attempts_are_kept_in_their_order
            a_list_is_cut_into_pages
            a_list_is_filtered
            a_class_among_others_is_found
            a_list_by_ids_is_in_order
            like_failures_are_grouped
            groups_are_filtered
            a_redrive_begins_a_new_run
            a_redrive_is_spread_and_limited
            a_redrive_takes_what_its_filter_says
            a_redriven_item_can_die_again
            a_purged_item_is_an_empty_one_that_stays
            what_is_pending_is_left_out_and_what_is_leased_is_not
            a_dead_letter_gets_another_payload
            a_job_is_removed_with_all_that_is_known_of_it
            what_is_exported_can_be_imported
            an_import_begins_anew_what_was_not_done
            an_import_leaves_what_is_there
            a_value_changes_with_its_revision
            values_are_found_by_the_beginning_of_their_keys
            a_value_is_found_or_added_in_one_step
            what_is_chosen_is_found_to_the_letter
            nothing_is_added_where_choosing_fails
            anything_can_be_an_id
            a_large_payload_is_kept
            a_change_ends_the_wait_for_it
            a_change_before_the_wait_for_it_ends_it
            the_ends_of_time_and_numbers_are_no_panic
            handles_share_one_store
            groups_have_their_hours
            groups_follow_the_items
            minutes_have_what_ended_in_them
            summaries_are_those_of_the_items
            a_job_that_was_removed_has_no_summaries
            jobs_are_listed_with_the_newest_first
            a_long_look_is_cut_short_and_goes_on
        );
    };
    (@tests $make:expr; $($behaviour:ident)+) => {
        $(
            #[::tokio::test]
            async fn $behaviour() {
                let Some((store, _lives_as_long)) = ($make)().await else { return };
                $crate::store::contract::$behaviour(&store).await;
            }
        )+
    };
}

/// An item that its job already has, by its id, is left as it is.
pub async fn an_item_is_added_once<S: Store>(store: &S) {
    enqueue(store, "job", &["a"]).await;
    let other = NewItem::new("a", "2");
    let batch = vec![other, new("b"), new("b")];
    assert_eq!(store.enqueue("job", batch, at(9)).await, Ok(1));
    let item = found(store, "a").await;
    assert_eq!((item.payload.as_str(), item.due), ("{\"id\":\"a\"}", Some(at(0))));
    assert_eq!(counts(store).await.pending, 2);

    // The same holds once it has ended.
    let lease = claim_one(store, 0).await;
    settle(store, &lease, 0, Settled::Succeeded(None)).await;
    assert_eq!(store.enqueue("job", vec![new("a")], at(9)).await, Ok(0));
    assert_eq!(found(store, "a").await.state, ItemState::Succeeded);
}

/// Having nothing to do is no error.
pub async fn an_empty_batch_is_nothing<S: Store>(store: &S) {
    assert_eq!(store.enqueue("job", Vec::new(), at(0)).await, Ok(0));
    assert_eq!(store.settle(Vec::new(), Vec::new(), at(0)).await, Ok(Vec::new()));
    assert_eq!(store.extend(Vec::new(), Vec::new(), at(0)).await, Ok(Vec::new()));
    assert_eq!(store.import(Vec::new(), at(0)).await, Ok(0));
    enqueue(store, "job", &["a"]).await;
    assert!(claim(store, 0, 0).await.is_empty());
    let page = store.list(&everything(), None, 0).await.expect("a page");
    assert!(page.items.is_empty() && page.next.is_some(), "there is more than nothing");
    assert_eq!(store.redrive(&Filter::job("job"), Some(0), at(0), MINUTE).await, Ok(0));
    let nobody = everything().ids(Vec::<String>::new());
    assert!(ids(store, &nobody).await.is_empty());
    assert!(ids(store, &Filter::default().states([])).await.is_empty());
}

/// Asking for a job that does not exist is no error, and does not create it.
pub async fn a_job_that_nobody_knows_is_empty<S: Store>(store: &S) {
    nothing_is_due(store, 0).await;
    assert_eq!(store.next_due("job").await, Ok(None));
    assert_eq!(counts(store).await, Counts::default());
    assert_eq!(store.item("job", "a").await, Ok(None));
    assert!(ids(store, &Filter::job("job")).await.is_empty());
    assert_eq!(store.stats(&Filter::job("job")).await, Ok(Vec::new()));
    assert_eq!(store.redrive(&Filter::job("job"), None, at(0), MINUTE).await, Ok(0));
    assert_eq!(store.purge(&Filter::job("job")).await, Ok(0));
}

/// Items of two jobs may have the same id.
pub async fn jobs_are_apart<S: Store>(store: &S) {
    enqueue(store, "job", &["a", "b"]).await;
    enqueue(store, "other", &["a"]).await;
    let lease = claim_one(store, 0).await;
    settle(store, &lease, 0, Settled::Succeeded(None)).await;
    let other = store.item("other", "a").await.expect("read").expect("there");
    assert_eq!((other.job.as_str(), other.state), ("other", ItemState::Pending));
    assert_eq!(store.counts("other").await.map(|counts| counts.pending), Ok(1));
    assert_eq!(counts(store).await.pending, 1);
    assert_eq!(claim(store, 0, 10).await.len(), 1);
    assert_eq!(
        store.claim("other", "worker", at(0), 10, 10, MINUTE).await.map(|all| all.len()),
        Ok(1)
    );
}

/// An item has its own correlation id, or `job/id`; a worker sees only its own.
pub async fn the_correlation_is_that_of_the_item_or_its_name<S: Store>(store: &S) {
    let own = new("a").correlation("trace-1");
    assert_eq!(store.enqueue("job", vec![own, new("b")], at(0)).await, Ok(2));
    assert_eq!(found(store, "a").await.correlation, "trace-1");
    assert_eq!(found(store, "b").await.correlation, "job/b");
    let leases = claim(store, 0, 2).await;
    assert_eq!(leases[0].correlation.as_deref(), Some("trace-1"));
    assert_eq!(leases[1].correlation, None);
}

/// Items are claimed by due time; those due at the same time in the order in which they were added.
pub async fn what_is_due_first_is_claimed_first<S: Store>(store: &S) {
    for (id, due) in [("c", 3), ("a", 1), ("b", 1), ("d", 2)] {
        assert_eq!(store.enqueue("job", vec![new(id)], at(due)).await, Ok(1));
    }
    let leases = claim(store, 9, 10).await;
    let order: Vec<_> = leases.iter().map(|lease| lease.id.as_str()).collect();
    assert_eq!(order, ["a", "b", "d", "c"]);
    assert!(leases.iter().all(|lease| lease.payload == new(&lease.id).payload));
}

/// An item is due at its time, and not before.
pub async fn what_is_not_due_is_not_claimed<S: Store>(store: &S) {
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
pub async fn what_is_never_due_is_never_claimed<S: Store>(store: &S) {
    assert_eq!(store.enqueue("job", vec![new("a")], Timestamp::NEVER).await, Ok(1));
    let leases = store.claim("job", "worker", Timestamp::NEVER, 1, 1, MINUTE).await;
    assert_eq!(leases, Ok(Vec::new()));
    assert_eq!(store.next_due("job").await, Ok(None));
    assert_eq!(found(store, "a").await.due, Some(Timestamp::NEVER));
}

/// A claim respects `max`.
pub async fn no_more_than_asked_for_is_claimed<S: Store>(store: &S) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    assert_eq!(claim(store, 0, 2).await.len(), 2);
    assert_eq!(claim(store, 0, usize::MAX).await.len(), 1);
}

/// No other worker gets an item before its lease has expired.
pub async fn a_lease_is_exclusive_until_it_ends<S: Store>(store: &S) {
    enqueue(store, "job", &["a"]).await;
    claim_one(store, 0).await;
    nothing_is_due(store, 59).await;
    claim_one(store, 60).await;
}

/// The next lease has a higher token and attempt; the lost one is in the history.
pub async fn a_lease_that_ended_is_claimed_again_and_counted_as_lost<S: Store>(store: &S) {
    enqueue(store, "job", &["a"]).await;
    let first = store.claim("job", "one", at(5), 1, 1, MINUTE).await.expect("claimed").remove(0);
    let second = store.claim("job", "two", at(500), 1, 1, MINUTE).await.expect("claimed").remove(0);
    assert_eq!(first.key.item, second.key.item);
    assert!(second.key.token > first.key.token, "the token fences");
    assert_eq!((second.attempt, second.lost, second.dropped), (2, 1, 0));
    let lost = AttemptRecord {
        run: 0,
        attempt: 1,
        started: at(5),
        duration: MINUTE,
        wait: Duration::ZERO,
        worker: Arc::from("one"),
        step: None,
        outcome: AttemptOutcome::Lost,
        failure: None,
        output: None,
    };
    assert_eq!(found(store, "a").await.history, [lost]);
    let counts = counts(store).await;
    assert_eq!((counts.lost, counts.attempts, counts.leased, counts.pending), (1, 0, 1, 0));
    // How long it worked is unknown.
    assert_eq!(counts.worked, Duration::ZERO);
}

/// If an item was claimed ahead, and its worker died before starting it, no attempt was made, and
/// the attempt's number is not used again.
pub async fn a_lease_whose_item_was_not_started_is_dropped<S: Store>(store: &S) {
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
pub async fn the_first_of_a_claim_start_with_it<S: Store>(store: &S) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    assert_eq!(prefetch(store, 0, 3, 2).await.len(), 3);
    let leases = claim(store, 100, 3).await;
    let losses: Vec<_> = leases.iter().map(|lease| (lease.lost, lease.dropped)).collect();
    assert_eq!(losses, [(1, 0), (1, 0), (0, 1)]);
    assert_eq!(found(store, "b").await.history[0].started, at(0));
    assert_eq!(counts(store).await.lost, 2);
}

/// The start that was recorded is when the lost attempt began.
pub async fn a_start_is_written_with_a_settlement_or_an_extension<S: Store>(store: &S) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    let leases = prefetch(store, 0, 3, 1).await;
    let start = |place: usize, now| vec![Start::new(leases[place].key, at(now))];
    let end = Settled::Succeeded(None);
    let settlement = Settlement { lease: leases[0].key, end, history: Vec::new() };
    assert_eq!(store.settle(vec![settlement], start(1, 7), at(8)).await, Ok(vec![true]));
    assert_eq!(store.extend(vec![leases[1].key], start(2, 9), at(90)).await, Ok(vec![true]));
    let again = claim(store, 100, 3).await;
    assert!(again.iter().all(|lease| (lease.lost, lease.dropped) == (1, 0)), "{again:?}");
    let (b, c) = (found(store, "b").await, found(store, "c").await);
    assert_eq!((b.history[0].started, b.history[0].duration), (at(7), Duration::from_secs(83)));
    assert_eq!((c.history[0].started, c.history[0].duration), (at(9), Duration::from_secs(51)));
}

/// Only the current lease of an item can record a start, and only while it is held.
pub async fn a_stale_start_is_left_out<S: Store>(store: &S) {
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

/// [`Lease::lost`](crate::Lease::lost) and [`Lease::dropped`](crate::Lease::dropped) are 0 again after a settlement.
pub async fn losses_in_a_row_are_counted_until_one_is_settled<S: Store>(store: &S) {
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
pub async fn two_losses_of_any_kind_make_a_suspect<S: Store>(store: &S) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    assert_eq!(prefetch(store, 0, 2, 1).await.len(), 2);
    assert_eq!(store.next_suspect("job").await, Ok(None));
    assert_eq!(prefetch(store, 100, 2, 0).await[1].id, "a");
    assert_eq!(store.next_suspect("job").await, Ok(Some(at(160))), "when its lease has ended");
    assert!(claim_suspect(store, 159).await.is_none());
    let leases = claim(store, 200, 9).await;
    assert_eq!(leases.iter().map(|lease| lease.id.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    for lease in &leases {
        settle(store, lease, 200, Settled::Succeeded(None)).await;
    }
    nothing_is_due(store, 200).await;
    assert_eq!(store.next_due("job").await, Ok(Some(at(160))));
    assert_eq!(counts(store).await.leased, 1);
}

/// Each lease of a suspect that expires unsettled is a strike, because the claim started it. After
/// a release it is still a suspect.
pub async fn a_suspect_is_claimed_alone_and_started<S: Store>(store: &S) {
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
pub async fn suspects_are_claimed_in_their_order<S: Store>(store: &S) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    assert_eq!(prefetch(store, 0, 3, 0).await.len(), 3);
    for now in [102, 101, 100] {
        assert_eq!(prefetch(store, now, 1, 0).await.len(), 1);
    }
    for id in ["c", "b", "a"] {
        assert_eq!(claim_suspect(store, 300).await.map(|lease| lease.id).as_deref(), Some(id));
    }
    assert!(claim_suspect(store, 300).await.is_none());
    assert_eq!(store.next_suspect("job").await, Ok(Some(at(360))));
    assert_eq!(store.next_suspect("other").await, Ok(None));
}

/// Leases of other workers, and in other jobs, do not end.
pub async fn leases_of_the_dead_end_at_once<S: Store>(store: &S) {
    enqueue(store, "job", &["a", "b", "c", "d"]).await;
    enqueue(store, "other", &["a"]).await;
    for (job, worker, max) in [("job", "one", 2), ("job", "two", 1), ("other", "one", 1)] {
        let leases = store.claim(job, worker, at(0), max, 1, MINUTE).await.expect("claimed");
        assert_eq!(leases.len(), max);
    }
    let dead = || vec!["one".to_owned(), "nobody".to_owned()];
    assert_eq!(store.expire("nowhere", dead(), at(5)).await, Ok(0));
    assert_eq!(store.expire("job", Vec::new(), at(5)).await, Ok(0));
    assert_eq!(store.expire("job", dead(), at(5)).await, Ok(2));
    assert_eq!(store.expire("job", dead(), at(6)).await, Ok(0), "they have ended");
    let leases = claim(store, 6, 9).await;
    let ids: Vec<_> = leases.iter().map(|lease| lease.id.as_str()).collect();
    assert_eq!(ids, ["d", "a", "b"]);
    assert_eq!((leases[1].lost, leases[2].dropped), (1, 1));
    assert_eq!(found(store, "a").await.history[0].duration, Duration::from_secs(5));
}

/// Items that were released before they started count, too; those that wait for another attempt do
/// not.
pub async fn what_was_never_leased_is_counted_as_waiting<S: Store>(store: &S) {
    assert_eq!(store.waiting("job", 9).await, Ok(0));
    enqueue(store, "other", &["a"]).await;
    enqueue(store, "job", &["a", "b", "c", "d", "e"]).await;
    assert_eq!((store.waiting("job", 9).await, store.waiting("job", 2).await), (Ok(5), Ok(2)));
    let leases = prefetch(store, 0, 4, 2).await;
    assert_eq!(store.waiting("job", 9).await, Ok(1));
    settle(store, &leases[0], 1, Settled::RetryAt { due: at(9), checkpoint: None }).await;
    settle(store, &leases[1], 1, Settled::Dead(failure("other", "no"))).await;
    let release = Settlement { lease: leases[2].key, end: Settled::Released, history: Vec::new() };
    assert_eq!(store.settle(vec![release], Vec::new(), at(1)).await, Ok(vec![true]));
    assert_eq!(store.waiting("job", 9).await, Ok(2));
    assert_eq!(store.redrive(&Filter::job("job"), None, at(1), MINUTE).await, Ok(1));
    assert_eq!(store.waiting("job", 9).await, Ok(2));
}

/// A worker may be late as long as no other has claimed the item.
pub async fn a_lease_that_ended_can_be_settled_until_it_is_claimed_again<S: Store>(store: &S) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    settle(store, &lease, 900, Settled::Succeeded(None)).await;
    let item = found(store, "a").await;
    assert_eq!((item.state, item.ended), (ItemState::Succeeded, Some(at(900))));
    assert_eq!(counts(store).await.lost, 0);
}

/// A settlement with a lease that has been superseded changes nothing at all.
pub async fn a_stale_settlement_writes_nothing<S: Store>(store: &S) {
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
    ] {
        assert!(!try_settle(store, &stale, 101, end.clone()).await, "{end:?} is refused");
        assert_eq!((found(store, "a").await, counts(store).await), before, "{end:?}");
    }
    let dead = Filter::job("job").states([ItemState::Dead, ItemState::Skipped]);
    assert_eq!(store.stats(&dead).await, Ok(Vec::new()));
    // Nor beside a valid settlement of the same item.
    let both = [&stale, &held].map(|lease| {
        let history = vec![row(lease, 102, false)];
        Settlement { lease: lease.key, end: Settled::Succeeded(None), history }
    });
    assert_eq!(store.settle(both.into(), Vec::new(), at(102)).await, Ok(vec![false, true]));
    assert_eq!(found(store, "a").await.history.len(), 2, "the one that was lost, and this one");
}

/// The second settlement of a lease is refused, even in the same batch.
pub async fn a_lease_is_settled_once<S: Store>(store: &S) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    let end = || Settled::RetryAt { due: at(500), checkpoint: None };
    let settlement =
        || Settlement { lease: lease.key, end: end(), history: vec![row(&lease, 1, true)] };
    assert_eq!(
        store.settle(vec![settlement(), settlement()], Vec::new(), at(1)).await,
        Ok(vec![true, false])
    );
    assert!(!try_settle(store, &lease, 2, end()).await);
    assert_eq!(found(store, "a").await.history.len(), 1);
    assert_eq!(counts(store).await.attempts, 1);
}

/// An item or a token that the store never issued is refused like a stale one.
pub async fn an_unknown_lease_is_refused<S: Store>(store: &S) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    for key in [
        LeaseKey { item: lease.key.item + 1000, token: 1 },
        LeaseKey { item: -1, token: 1 },
        LeaseKey { token: 0, ..lease.key },
        LeaseKey { token: u64::MAX, ..lease.key },
    ] {
        let settlement = Settlement { lease: key, end: Settled::Released, history: Vec::new() };
        assert_eq!(
            store.settle(vec![settlement], Vec::new(), at(1)).await,
            Ok(vec![false]),
            "{key:?}"
        );
        assert_eq!(store.extend(vec![key], Vec::new(), at(900)).await, Ok(vec![false]), "{key:?}");
    }
}

/// An item that has succeeded is never due again, and its output can be read.
pub async fn success_keeps_the_output<S: Store>(store: &S) {
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
pub async fn a_retry_comes_back_when_it_is_due_with_its_checkpoint<S: Store>(store: &S) {
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
pub async fn a_dead_letter_keeps_its_failure<S: Store>(store: &S) {
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
pub async fn a_skipped_item_needs_no_reason<S: Store>(store: &S) {
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
pub async fn a_release_takes_the_attempt_back<S: Store>(store: &S) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    let release = Settlement { lease: lease.key, end: Settled::Released, history: Vec::new() };
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
pub async fn a_release_keeps_losses_and_checkpoint<S: Store>(store: &S) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    let checkpoint = Some("half".to_owned());
    settle(store, &lease, 1, Settled::RetryAt { due: at(1), checkpoint: checkpoint.clone() }).await;
    claim_one(store, 1).await;
    let lease = claim_one(store, 100).await;
    assert_eq!((lease.attempt, lease.lost, &lease.checkpoint), (3, 1, &checkpoint));
    let release = Settlement { lease: lease.key, end: Settled::Released, history: Vec::new() };
    assert_eq!(store.settle(vec![release], Vec::new(), at(101)).await, Ok(vec![true]));
    let lease = claim_one(store, 101).await;
    assert_eq!((lease.attempt, lease.lost, &lease.checkpoint), (3, 1, &checkpoint));
}

/// A heartbeat renews a lease.
pub async fn an_extended_lease_ends_later<S: Store>(store: &S) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    assert_eq!(store.extend(vec![lease.key], Vec::new(), at(500)).await, Ok(vec![true]));
    assert_eq!(store.next_due("job").await, Ok(Some(at(500))));
    nothing_is_due(store, 499).await;
    // An expired lease can be renewed, too, as long as no other worker has the item.
    assert_eq!(store.extend(vec![lease.key], Vec::new(), at(900)).await, Ok(vec![true]));
    nothing_is_due(store, 899).await;
    settle(store, &lease, 899, Settled::Succeeded(None)).await;
}

/// A heartbeat that was delayed does not shorten the lease.
pub async fn an_extension_never_shortens_a_lease<S: Store>(store: &S) {
    enqueue(store, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    assert_eq!(store.extend(vec![lease.key], Vec::new(), at(10)).await, Ok(vec![true]));
    assert_eq!(store.next_due("job").await, Ok(Some(at(60))));
}

/// A heartbeat with a lease that has been superseded does not renew another worker's lease.
pub async fn a_stale_extension_is_refused<S: Store>(store: &S) {
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
pub async fn settlements_answer_in_their_order<S: Store>(store: &S) {
    enqueue(store, "job", &["a", "b", "c"]).await;
    let leases = claim(store, 0, 3).await;
    settle(store, &leases[1], 1, Settled::Succeeded(None)).await;
    let settlements: Vec<_> = leases
        .iter()
        .map(|lease| Settlement {
            lease: lease.key,
            end: Settled::Dead(failure("other", "no")),
            history: vec![row(lease, 2, true)],
        })
        .collect();
    assert_eq!(store.settle(settlements, Vec::new(), at(2)).await, Ok(vec![true, false, true]));
    let counts = counts(store).await;
    assert_eq!((counts.succeeded, counts.dead, counts.attempts), (1, 2, 3));
}

/// It is the earliest due time or end of a lease; `None` once everything has ended.
pub async fn the_next_due_time_is_that_of_items_and_leases<S: Store>(store: &S) {
    assert_eq!(store.enqueue("job", vec![new("a")], at(5)).await, Ok(1));
    assert_eq!(store.enqueue("job", vec![new("b")], at(90)).await, Ok(1));
    assert_eq!(store.next_due("job").await, Ok(Some(at(5))));
    let a = claim_one(store, 5).await;
    assert_eq!(store.next_due("job").await, Ok(Some(at(65))));
    settle(store, &a, 6, Settled::Succeeded(None)).await;
    assert_eq!(store.next_due("job").await, Ok(Some(at(90))));
    let b = claim_one(store, 90).await;
    settle(store, &b, 91, Settled::Succeeded(None)).await;
    assert_eq!(store.next_due("job").await, Ok(None));
}

/// The counts are right after each step.
pub async fn counts_follow_the_items<S: Store>(store: &S) {
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

    let failed = Filter::job("job").states([ItemState::Dead, ItemState::Skipped]);
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
pub async fn attempts_are_kept_in_their_order<S: Store>(store: &S) {
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
            let settlement = Settlement { lease: lease.key, end, history: rows };
            assert_eq!(store.settle(vec![settlement], Vec::new(), at(now)).await, Ok(vec![true]));
        }
        let due = at(run * 1000 + 1000);
        assert_eq!(store.redrive(&Filter::job("job"), None, due, MINUTE).await, Ok(1));
    }
    assert_eq!(found(store, "a").await.history, written);
    let list = store.list(&everything(), None, 1).await.expect("a page");
    assert!(list.items[0].history.is_empty(), "lists are without histories");
}

/// Pages are in the order in which items were added, whatever became of them.
pub async fn a_list_is_cut_into_pages<S: Store>(store: &S) {
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
pub async fn a_list_is_filtered<S: Store>(store: &S) {
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
pub async fn a_class_among_others_is_found<S: Store>(store: &S) {
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

/// Each item is listed once, in the order of the list rather than that of the ids.
pub async fn a_list_by_ids_is_in_order<S: Store>(store: &S) {
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
pub async fn like_failures_are_grouped<S: Store>(store: &S) {
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
pub async fn groups_are_filtered<S: Store>(store: &S) {
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
    assert_eq!(total(Filter { signature: Some("x".to_owned()), ..Filter::job("job") }).await, 2);
    assert_eq!(total(Filter { class: Some("other".to_owned()), ..Filter::default() }).await, 2);
    assert_eq!(total(Filter { since: Some(at(1)), ..Filter::default() }).await, 2);
}

/// A new run has run + 1, attempt 0, no checkpoint and no failure; history and correlation id stay.
pub async fn a_redrive_begins_a_new_run<S: Store>(store: &S) {
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
pub async fn a_redrive_is_spread_and_limited<S: Store>(store: &S) {
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
pub async fn a_redrive_takes_what_its_filter_says<S: Store>(store: &S) {
    kill(store, &[("a", "other", "x"), ("b", "timeout", "x"), ("c", "other", "y")]).await;
    enqueue(store, "job", &["d", "e", "f"]).await;
    let leases = claim(store, 5, 3).await;
    settle(store, &leases[0], 5, Settled::Skipped(None)).await;
    settle(store, &leases[1], 5, Settled::Succeeded(None)).await;
    let now = at(9);
    let redrive = async |filter: Filter| store.redrive(&filter, None, now, MINUTE).await;
    assert_eq!(redrive(Filter::job("other")).await, Ok(0));
    assert_eq!(redrive(Filter::job("job").ids(["a", "d", "e"])).await, Ok(1));
    assert_eq!(
        redrive(Filter { class: Some("timeout".to_owned()), ..Filter::job("job") }).await,
        Ok(1)
    );
    assert_eq!(redrive(everything()).await, Ok(2), "the dead and the skipped one");
    assert_eq!(found(store, "e").await.state, ItemState::Succeeded);
    assert_eq!(found(store, "f").await.state, ItemState::Leased);
}

/// The item may die of another failure.
pub async fn a_redriven_item_can_die_again<S: Store>(store: &S) {
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
pub async fn a_purged_item_is_an_empty_one_that_stays<S: Store>(store: &S) {
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

/// When a job is cancelled, pending items are skipped, whether they are due or not.
pub async fn what_is_pending_is_left_out_and_what_is_leased_is_not<S: Store>(store: &S) {
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
pub async fn a_dead_letter_gets_another_payload<S: Store>(store: &S) {
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

/// Other jobs stay, and no later item is taken for one that is gone.
pub async fn a_job_is_removed_with_all_that_is_known_of_it<S: Store>(store: &S) {
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
pub async fn what_is_exported_can_be_imported<S: Store>(store: &S) {
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
    let leases = store.claim("copy", "worker", at(50), 9, 9, MINUTE).await.expect("claimed");
    let correlations: Vec<_> = leases.iter().map(|lease| lease.correlation.as_deref()).collect();
    assert_eq!(correlations, [Some("job/d"), Some("job/b")]);
    settle(store, &leases[1], 51, Settled::Succeeded(None)).await;
    let item = store.item("copy", "b").await.expect("read").expect("there");
    assert_eq!(item.history.len(), 2);
}

/// Items that were pending or leased elsewhere are due here and now, with their checkpoints.
pub async fn an_import_begins_anew_what_was_not_done<S: Store>(store: &S) {
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
    let leases = store.claim("copy", "worker", at(40), 9, 9, MINUTE).await.expect("claimed");
    let attempts: Vec<_> = leases.iter().map(|lease| (lease.id.as_str(), lease.attempt)).collect();
    assert_eq!(attempts, [("a", 2), ("b", 2)]);
    assert_eq!((&leases[0].checkpoint, &leases[1].checkpoint), (&checkpoint, &None));
    let counts = store.counts("copy").await.expect("counts");
    assert_eq!((counts.leased, counts.attempts, counts.lost), (2, 1, 0));
}

/// Items are compared by id, both with the store and within the import.
pub async fn an_import_leaves_what_is_there<S: Store>(store: &S) {
    kill(store, &[("a", "other", "x")]).await;
    let old = found(store, "a").await;
    let other = ItemRecord { payload: "other".to_owned(), ..old.clone() };
    let new = ItemRecord { id: "b".to_owned(), ..old.clone() };
    let items = vec![other, new.clone(), new];
    assert_eq!(store.import(items, at(5)).await, Ok(1));
    assert_eq!(found(store, "a").await, old);
    assert_eq!(counts(store).await.attempts, 2);
}

/// A caller that has not seen the last change cannot change the value.
pub async fn a_value_changes_with_its_revision<S: Store>(store: &S) {
    assert_eq!(store.get("k").await, Ok(None));
    assert_eq!(store.cas("k", 1, "x").await, Ok(false));
    assert_eq!(store.get("k").await, Ok(None));
    assert_eq!(store.cas("k", 0, "one").await, Ok(true));
    assert_eq!(store.cas("k", 0, "x").await, Ok(false));
    assert_eq!(store.get("k").await, Ok(Some((1, "one".to_owned()))));
    assert_eq!(store.cas("k", 1, "two").await, Ok(true));
    assert_eq!(store.cas("k", 1, "x").await, Ok(false));
    assert_eq!(store.cas("k", u64::MAX, "x").await, Ok(false));
    assert_eq!(store.get("k").await, Ok(Some((2, "two".to_owned()))));
}

/// Prefixes match literally: there are no wildcards, and case matters.
pub async fn values_are_found_by_the_beginning_of_their_keys<S: Store>(store: &S) {
    let mut all = ["", "a", "a%b", "a_b", "axb", "A", "a\0b", "ä", "äb", "b", "\u{10ffff}"];
    for key in all {
        assert_eq!(store.cas(key, 0, &format!("of {key}")).await, Ok(true), "{key:?}");
    }
    all.sort_unstable();
    for prefix in ["", "a", "a%", "a_", "A", "a\0", "ä", "\u{10ffff}", "nobody"] {
        let begins = all.iter().filter(|key| key.starts_with(prefix));
        let expected = begins.map(|&key| (key.to_owned(), format!("of {key}"))).collect();
        assert_eq!(store.values(prefix).await, Ok(expected), "{prefix:?}");
    }
}

/// Concurrent callers get the same value, and nothing changes between reading the values and
/// choosing.
pub async fn a_value_is_found_or_added_in_one_step<S: Store>(store: &S) {
    // The first value, or one that says who added it.
    let choose = |number: usize| {
        move |values: &[(String, String)]| {
            let first = values.first().cloned();
            Ok(first.unwrap_or_else(|| (format!("k/{number}"), format!("{number}"))))
        }
    };
    assert_eq!(store.cas("j", 0, "").await, Ok(true));
    let tasks: Vec<_> = (0..32)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.find_or_insert("k/", choose(number)).await })
        })
        .collect();
    let mut found = Vec::new();
    for task in tasks {
        found.push(task.await.expect("no panic").expect("found or added"));
    }
    let first = found.first().cloned().expect("32 of them");
    assert!(found.iter().all(|one| *one == first), "several were added: {found:?}");
    assert_eq!(store.get(&first.0).await, Ok(Some((1, first.1.clone()))));
    assert_eq!(store.values("k/").await, Ok(vec![first]));
}

/// A key that has a value keeps it, with its revision, whatever value was chosen; the chosen key
/// need not start with the prefix.
pub async fn what_is_chosen_is_found_to_the_letter<S: Store>(store: &S) {
    for (key, revision, value) in [("k", 0, "one"), ("k", 1, "two"), ("K", 0, "other")] {
        assert_eq!(store.cas(key, revision, value).await, Ok(true));
    }
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    for (key, value, kept) in [("k", "new", "two"), ("K", "", "other"), ("", "first", "first")] {
        let chosen = pair(key, value);
        let kept = pair(key, kept);
        let choose = move |values: &[(String, String)]| {
            assert_eq!(values, [("k".to_owned(), "two".to_owned())]);
            Ok(chosen.clone())
        };
        assert_eq!(store.find_or_insert("k", choose).await, Ok(kept));
    }
    assert_eq!(store.get("k").await, Ok(Some((2, "two".to_owned()))));
    assert_eq!(store.get("").await, Ok(Some((1, "first".to_owned()))));
}

/// The caller gets the error that choosing returned.
pub async fn nothing_is_added_where_choosing_fails<S: Store>(store: &S) {
    let failed = store.find_or_insert("k", |_| Err(StoreError::Closed)).await;
    assert_eq!(failed, Err(StoreError::Closed));
    assert_eq!(store.values("").await, Ok(Vec::new()));
}

/// Anything can be a payload, a job, a worker, a step or a message, too.
pub async fn anything_can_be_an_id<S: Store>(store: &S) {
    const TEXTS: [&str; 11] = [
        "",
        " ",
        "a\nb\r\n",
        "'; DROP TABLE items; --",
        "\"quoted\"",
        "\0",
        "a\0b",
        "a\0c",
        "%_?1:x",
        "\u{1f980}\u{202e}\u{feff}",
        "Ä",
    ];
    for job in TEXTS {
        let items = TEXTS.map(|text| NewItem::new(text, text).correlation(text));
        assert_eq!(store.enqueue(job, items.to_vec(), at(0)).await, Ok(TEXTS.len() as u64));
        let leases = store.claim(job, job, at(0), 99, 99, MINUTE).await.expect("claimed");
        for (lease, text) in leases.iter().zip(TEXTS) {
            assert_eq!((lease.id.as_str(), lease.payload.as_str()), (text, text));
            assert_eq!(lease.correlation.as_deref(), Some(text));
            let mut why = Failure::new(text, text);
            why.signature = text.to_owned().into();
            why.chain = vec![text.to_owned(), job.to_owned()];
            why.culprits = vec![job.to_owned(), text.to_owned()];
            let row = AttemptRecord {
                worker: Arc::from(job),
                step: Some(text.to_owned()),
                failure: Some(why.clone()),
                ..row(lease, 0, true)
            };
            let settlement = Settlement {
                lease: lease.key,
                end: Settled::Dead(why.clone()),
                history: vec![row.clone()],
            };
            assert_eq!(store.settle(vec![settlement], Vec::new(), at(1)).await, Ok(vec![true]));
            let item = store.item(job, text).await.expect("read").expect("there");
            assert_eq!((item.job.as_str(), item.id.as_str()), (job, text));
            assert_eq!((item.failure, item.history), (Some(why), vec![row]));
        }
        for text in TEXTS {
            let like = Filter { signature: Some(text.to_owned()), ..Filter::job(job) };
            assert_eq!(ids(store, &like).await, [text]);
            assert_eq!(ids(store, &Filter::job(job).ids([text])).await, [text]);
            let class = Filter { class: Some(text.to_owned()), ..Filter::job(job) };
            assert_eq!(ids(store, &class).await, [text]);
        }
        assert_eq!(store.stats(&Filter::job(job)).await.map(|all| all.len()), Ok(TEXTS.len()));
    }
}

/// A text of 10 MB is stored, as a payload and as an output.
pub async fn a_large_payload_is_kept<S: Store>(store: &S) {
    let payload = "é0123456".repeat(10_000_000 / 9);
    let item = NewItem::new("a", payload.clone());
    assert_eq!(store.enqueue("job", vec![item], at(0)).await, Ok(1));
    let lease = claim_one(store, 0).await;
    assert!(lease.payload == payload, "it is as it was");
    settle(store, &lease, 1, Settled::Succeeded(Some(payload.clone()))).await;
    let item = found(store, "a").await;
    assert!(item.payload == payload && item.output == Some(payload), "it is as it was");
}

/// A claim ends with the payload that reaches the limit.
pub async fn large_payloads_are_claimed_a_few_at_a_time<S: Store>(store: &S) {
    let payload = "x".repeat(super::MAX_CLAIM_BYTES / 2);
    let items = ["a", "b", "c"].map(|id| NewItem::new(id, payload.clone()));
    assert_eq!(store.enqueue("job", items.into(), at(0)).await, Ok(3));
    assert_eq!(claim(store, 0, 10).await.len(), 2);
    assert_eq!(claim(store, 0, 10).await.len(), 1);
}

/// How long a store may take to report a change; one that polls takes a second.
const TOLD_WITHIN: Duration = Duration::from_secs(10);

/// A wait for changes of `job` that has begun.
async fn waiting_for<S: Store>(store: &S, seen: u64) -> tokio::task::JoinHandle<u64> {
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
pub async fn a_change_ends_the_wait_for_it<S: Store>(store: &S) {
    let failed = || Filter::job("job");
    let wait = waiting_for(store, 0).await;
    enqueue(store, "job", &["a", "b", "c"]).await;
    let mut seen = told(wait, "items that are added").await;
    for change in
        ["retry", "redrive", "purge", "skip", "edit", "expire", "import", "value", "remove"]
    {
        // The preparations may be reported, too.
        match change {
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
            ("value", _) => store.cas("job/job", 0, "1").await.expect("written").into(),
            _ => store.remove("job", 100, Vec::new()).await.expect("removed"),
        };
        assert!(done > 0, "{change} has changed something");
        seen = told(wait, change).await;
    }
}

/// No change between two waits is lost.
pub async fn a_change_before_the_wait_for_it_ends_it<S: Store>(store: &S) {
    let wait = waiting_for(store, 0).await;
    enqueue(store, "job", &["a"]).await;
    let seen = told(wait, "the first").await;
    enqueue(store, "job", &["b"]).await;
    told(waiting_for(store, seen).await, "the second").await;
}

/// Times before 1970, the end of time and infinite durations do not cause a panic.
pub async fn the_ends_of_time_and_numbers_are_no_panic<S: Store>(store: &S) {
    let early = Timestamp::from_micros(i64::MIN);
    assert_eq!(store.enqueue("job", vec![new("a"), new("b")], early).await, Ok(2));
    assert_eq!(store.next_due("job").await, Ok(Some(early)));
    let leases = store.claim("job", "w", early, 1, 1, Duration::MAX).await.expect("claimed");
    let mut long = row(&leases[0], 0, false);
    long.duration = Duration::MAX;
    long.wait = Duration::MAX;
    (long.run, long.attempt) = (u32::MAX, u32::MAX);
    let history = vec![long.clone(), long];
    let settlement =
        Settlement { lease: leases[0].key, end: Settled::Dead(failure("other", "no")), history };
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
    let b = store.claim("job", "w", early, 1, 1, Duration::MAX).await.expect("claimed").remove(0);
    assert_eq!(store.extend(vec![b.key], Vec::new(), Timestamp::NEVER).await, Ok(vec![true]));
    let leases = store.claim("job", "w", Timestamp::NEVER, 9, 9, MINUTE).await.expect("claimed");
    assert_eq!(leases.iter().map(|lease| lease.id.as_str()).collect::<Vec<_>>(), ["a"]);
}

/// A clone is another handle to the same store.
pub async fn handles_share_one_store<S: Store>(store: &S) {
    let other = store.clone();
    enqueue(&other, "job", &["a"]).await;
    let lease = claim_one(store, 0).await;
    settle(&other, &lease, 1, Settled::Succeeded(None)).await;
    drop(other);
    assert_eq!(found(store, "a").await.state, ItemState::Succeeded);
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_behaviour_is_in_the_list() {
        let source = include_str!("contract.rs");
        let (list, _) = source
            .split_once("(@tests")
            .and_then(|(_, rest)| rest.split_once(");"))
            .expect("the list");
        let sources = [source, include_str!("contract/summaries.rs")].into_iter();
        let behaviours =
            sources.flat_map(str::lines).filter_map(|line| line.strip_prefix("pub async fn "));
        for behaviour in behaviours.filter_map(|line| line.split_once('<')) {
            assert!(list.contains(behaviour.0), "{} has no test", behaviour.0);
        }
    }
}
