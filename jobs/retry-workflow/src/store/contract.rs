//! The contract of stores, as functions for the tests of a store.
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
mod adding;
mod claiming;
mod settling;
mod dead_letters;
mod importing;
mod values;
mod summaries;
mod sharing;

pub use self::adding::*;
pub use self::claiming::*;
pub use self::dead_letters::*;
pub use self::importing::*;
pub use self::settling::*;
pub use self::sharing::*;
pub use self::summaries::*;
pub use self::values::*;

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
            an_id_that_is_too_long_is_refused
            an_item_is_added_once
            an_empty_batch_is_nothing
            a_job_that_nobody_knows_is_empty
            jobs_are_apart
            the_correlation_is_that_of_the_item_or_its_name
            what_is_due_first_is_claimed_first
            what_was_begun_is_claimed_first_and_half_of_the_places_are_for_what_is_new
            what_has_a_higher_priority_is_claimed_first
            a_priority_stays_with_its_item
            a_priority_out_of_range_is_the_nearest
            what_is_looked_at_has_every_priority
            claims_of_one_take_turns
            an_item_has_begun_if_it_was_claimed_before_in_its_run
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
            a_deferred_item_waits_uncounted_and_then_comes_first
            only_items_deferred_for_a_limit_are_made_due_with_it
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
            what_waits_is_made_due_and_what_is_leased_is_not
            what_is_pending_is_left_out_and_what_is_leased_is_not
            a_dead_letter_gets_another_payload
            a_job_is_removed_with_all_that_is_known_of_it
            what_is_exported_can_be_imported
            an_import_begins_anew_what_was_not_done
            an_import_leaves_what_is_there
            a_value_changes_with_its_revision
            values_are_found_by_the_beginning_of_their_keys
            a_value_is_found_or_added_in_one_step
            values_change_together
            values_that_change_together_are_not_lost
            what_is_chosen_is_found_to_the_letter
            nothing_is_added_where_choosing_fails
            anything_can_be_an_id
            a_large_payload_is_kept
            a_change_ends_the_wait_for_it
            a_change_before_the_wait_for_it_ends_it
            the_ends_of_time_and_numbers_are_no_panic
            groups_have_their_hours
            groups_follow_the_items
            groups_over_all_jobs_are_those_of_each
            groups_over_all_jobs_follow_the_items
            minutes_have_what_ended_in_them
            durations_are_counted_by_step
            durations_of_a_refused_settlement_do_not_count
            durations_of_the_last_hour_are_kept
            many_steps_are_bounded
            durations_of_several_jobs_in_one_settlement_are_apart
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
                let store = $crate::store::IntoStore::into_store(store);
                $crate::store::contract::$behaviour(&store).await;
            }
        )+
    };
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
        let behaviours = [
            include_str!("contract/adding.rs"),
            include_str!("contract/claiming.rs"),
            include_str!("contract/settling.rs"),
            include_str!("contract/dead_letters.rs"),
            include_str!("contract/importing.rs"),
            include_str!("contract/values.rs"),
            include_str!("contract/summaries.rs"),
            include_str!("contract/sharing.rs"),
        ]
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("pub async fn "));
        for behaviour in behaviours.filter_map(|line| line.split_once('(')) {
            assert!(list.contains(behaviour.0), "{} has no test", behaviour.0);
        }
    }
}
