//! [`Ledger`]: the counts of a job as one worker knows them: what the store last counted, what this
//! worker has settled since, and what it is about to settle. From these it derives when the job
//! must stop, and how many more items the worker wants.

mod throughput;

use std::ops::{AddAssign, SubAssign};

use self::throughput::Throughput;
use super::attempt::Completion;
use super::leases::Load;
use crate::item::record::{Counts, ItemState};
use crate::job::error_policy::ErrorPolicy;
use crate::job::record::{Baseline, StopReason};

/// Items that have ended, as far as limits count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EndedItems {
    ended: u64,
    failed: u64,
    /// Items whose failure stops the job.
    stops: u64,
}

impl EndedItems {
    fn from_completion(completion: &Completion) -> Self {
        let failed = completion.state.is_some_and(|state| state != ItemState::Succeeded);
        Self {
            ended: completion.state.is_some().into(),
            failed: failed.into(),
            stops: completion.stops.into(),
        }
    }
}

impl AddAssign for EndedItems {
    fn add_assign(&mut self, more: Self) {
        self.ended += more.ended;
        self.failed += more.failed;
        self.stops += more.stops;
    }
}

impl SubAssign for EndedItems {
    fn sub_assign(&mut self, less: Self) {
        self.ended -= less.ended;
        self.failed -= less.failed;
        self.stops -= less.stops;
    }
}

/// The counts of a job, as one worker knows them.
pub(super) struct Ledger {
    max_parallel: usize,
    throughput: Throughput,
    /// The store's counts when they were last read.
    stored: Counts,
    /// The items that thresholds do not count.
    baseline: Baseline,
    /// The items that this worker has settled since.
    settled: EndedItems,
    /// The items that it has done but not settled yet.
    unsettled: EndedItems,
    /// Set if `stored` may already include what is being settled, so that it must not be counted
    /// again.
    is_in_doubt: bool,
    /// The number of changes by this worker, now and at the time when `stored` was read from the
    /// store.
    changes: u64,
    stored_after: Option<u64>,
}

impl Ledger {
    pub(super) fn new(max_parallel: usize, stored: Counts, baseline: Baseline) -> Self {
        Self {
            max_parallel,
            throughput: Throughput::new(),
            stored,
            baseline,
            settled: EndedItems::default(),
            unsettled: EndedItems::default(),
            is_in_doubt: false,
            changes: 0,
            stored_after: None,
        }
    }

    /// The store's counts when they were last read.
    pub(super) fn stored(&self) -> Counts {
        self.stored
    }

    /// Returns how often this worker has changed something; the store's results are dated by it.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Notes that this worker has changed what the store counts.
    pub(super) fn changed(&mut self) {
        self.changes += 1;
    }

    /// Takes over what the store counted after this many changes, perhaps while something was being
    /// settled.
    pub(super) fn counted(&mut self, changes: u64, stored: Counts, is_settling: bool) {
        self.stored = stored;
        self.stored_after = Some(changes);
        self.settled = EndedItems::default();
        self.is_in_doubt = is_settling;
    }

    /// Returns whether the store's counts include everything that this worker has changed.
    pub(super) fn is_current(&self) -> bool {
        self.stored_after == Some(self.changes)
    }

    /// Returns whether every item has ended, and this worker knows it for sure.
    pub(super) fn is_complete(&self) -> bool {
        self.is_current() && self.stored.unfinished() == 0
    }

    /// Counts an item that a handler is done with, and that is to be settled.
    pub(super) fn done(&mut self, completion: &Completion) {
        self.unsettled += EndedItems::from_completion(completion);
    }

    /// Counts the store's result for an item: `good` if its lease was still held.
    pub(super) fn settled(&mut self, completion: &Completion, good: bool) {
        let tally = EndedItems::from_completion(completion);
        self.unsettled -= tally;
        self.throughput.count();
        if good && !self.is_in_doubt {
            self.settled += tally;
        }
    }

    /// Notes the end of a settlement, and returns whether the store has to count again.
    pub(super) fn settlement_ended(&mut self) -> bool {
        self.changed();
        std::mem::take(&mut self.is_in_doubt)
    }

    /// The limit that the settled items exceed.
    pub(super) fn exceeded(&self, policy: &ErrorPolicy) -> Option<StopReason> {
        self.exceeded_with(EndedItems::default(), policy)
    }

    /// Returns whether unsettled items are about to stop the job.
    pub(super) fn will_stop(&self, policy: &ErrorPolicy) -> bool {
        self.unsettled.stops > 0 || self.exceeded_with(self.unsettled, policy).is_some()
    }

    fn exceeded_with(&self, more: EndedItems, policy: &ErrorPolicy) -> Option<StopReason> {
        let ended = self.stored.ended() + self.settled.ended + more.ended;
        let failed = self.stored.failed() + self.settled.failed + more.failed;
        let ended = ended.saturating_sub(self.baseline.ended);
        let failed = failed.saturating_sub(self.baseline.failed);
        if failed > 0 && !policy.continue_on_failure {
            return Some(StopReason::FirstFailure);
        }
        if let Some(max_failures) = policy.max_failures
            && failed >= max_failures
        {
            return Some(StopReason::MaxFailures { max_failures });
        }
        #[expect(clippy::cast_precision_loss, reason = "a share is no exact number")]
        if let Some(failure_threshold) = policy.failure_threshold
            && ended >= policy.minimum_items
            && failed as f64 / ended as f64 > failure_threshold
        {
            return Some(StopReason::FailureThreshold { failure_threshold, failed, ended });
        }
        None
    }

    /// Returns how many items to claim now, with no more than `limit` held in total; 0 to claim
    /// later.
    pub(super) fn to_claim(&self, load: Load, limit: usize) -> usize {
        // One for each slot, plus those that will be handed out while more are claimed.
        let most_held = self.max_parallel.saturating_add(self.throughput.in_a_while()).min(limit);
        let wanted = most_held.saturating_sub(load.held);
        // A claim has a fixed cost, so claim many at a time, unless a slot would stay empty.
        let free = self.max_parallel.saturating_sub(load.running);
        let worth_it = if load.ready < free { 1 } else { (most_held / 4).max(1) };
        if wanted >= worth_it { wanted } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::lease::LeaseKey;

    fn ended(state: ItemState) -> Completion {
        Completion { state: Some(state), ..Completion::released(LeaseKey { item: 1, token: 1 }) }
    }

    fn put_back() -> Completion {
        Completion::released(LeaseKey { item: 1, token: 1 })
    }

    fn stored(succeeded: u64, dead: u64, pending: u64) -> Counts {
        Counts { pending, succeeded, dead, ..Counts::default() }
    }

    fn ledger(stored: Counts) -> Ledger {
        Ledger::new(4, stored, Baseline::default())
    }

    fn at_most(failures: u64) -> ErrorPolicy {
        ErrorPolicy::new().max_failures(failures)
    }

    #[test]
    fn a_completion_counts_once_before_it_is_settled() {
        let (good, bad) = (ended(ItemState::Succeeded), ended(ItemState::Dead));
        let mut ledger = ledger(stored(0, 1, 9));
        ledger.done(&bad);
        ledger.done(&good);
        ledger.done(&put_back());
        assert!(ledger.will_stop(&at_most(2)) && !ledger.will_stop(&at_most(3)));
        assert_eq!(ledger.exceeded(&at_most(2)), None);
        for completion in [&bad, &good, &put_back()] {
            ledger.settled(completion, true);
        }
        assert!(!ledger.settlement_ended());
        assert_eq!(ledger.unsettled, EndedItems::default());
        assert_eq!(ledger.settled, EndedItems { ended: 2, failed: 1, stops: 0 });
        assert!(ledger.exceeded(&at_most(2)).is_some());
        assert_eq!(ledger.exceeded(&at_most(3)), None);
    }

    #[test]
    fn items_of_another_worker_do_not_count() {
        let bad = ended(ItemState::Skipped);
        let mut ledger = ledger(stored(0, 0, 9));
        ledger.done(&bad);
        ledger.settled(&bad, false);
        assert_eq!(
            (ledger.settled, ledger.unsettled),
            (EndedItems::default(), EndedItems::default())
        );
    }

    #[test]
    fn a_failure_that_stops_the_job_does_so_before_it_is_settled() {
        let mut ledger = ledger(stored(0, 0, 9));
        ledger.done(&Completion { stops: true, ..ended(ItemState::Dead) });
        assert!(ledger.will_stop(&ErrorPolicy::new()));
    }

    #[test]
    fn counts_of_the_store_replace_earlier_settlements() {
        let bad = ended(ItemState::Dead);
        let mut ledger = ledger(stored(0, 0, 9));
        ledger.done(&bad);
        ledger.settled(&bad, true);
        assert!(!ledger.settlement_ended());
        ledger.counted(ledger.changes(), stored(0, 1, 8), false);
        assert!(ledger.exceeded(&at_most(1)).is_some());
        assert_eq!(ledger.exceeded(&at_most(2)), None, "it is counted once");
    }

    #[test]
    fn items_settled_during_a_count_are_counted_again() {
        let bad = ended(ItemState::Dead);
        let mut ledger = ledger(stored(0, 0, 9));
        ledger.done(&bad);
        // The counts may or may not include it.
        ledger.counted(ledger.changes(), stored(0, 1, 8), true);
        ledger.settled(&bad, true);
        assert_eq!(ledger.exceeded(&at_most(2)), None);
        assert!(ledger.settlement_ended());
        assert!(!ledger.settlement_ended(), "once");
    }

    #[test]
    fn a_job_is_complete_by_counts_after_the_last_change_only() {
        let mut ledger = ledger(stored(9, 0, 0));
        assert!(!ledger.is_complete(), "before the worker has begun");
        ledger.counted(0, stored(9, 0, 0), false);
        assert!(ledger.is_complete());
        ledger.changed();
        assert!(!ledger.is_complete());
        ledger.counted(ledger.changes(), stored(9, 0, 1), false);
        assert!(ledger.is_current() && !ledger.is_complete());
    }

    #[test]
    fn thresholds_exclude_failures_before_the_last_stop() {
        let baseline = Baseline { ended: 5, failed: 5 };
        let ledger = Ledger::new(4, stored(1, 6, 0), baseline);
        assert!(ledger.exceeded(&at_most(1)).is_some());
        assert_eq!(ledger.exceeded(&at_most(2)), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_fills_places_at_once_and_the_rest_many_at_a_time() {
        let mut ledger = ledger(stored(0, 0, 9));
        let load = |held, ready, running| Load { held, ready, running };
        assert_eq!(ledger.to_claim(load(0, 0, 0), usize::MAX), 4);
        assert_eq!(ledger.to_claim(load(3, 0, 3), usize::MAX), 1);
        assert_eq!(ledger.to_claim(load(4, 0, 4), usize::MAX), 0);
        assert_eq!(ledger.to_claim(load(3, 0, 3), 3), 0, "a breaker wants no more");
        // After many in a short time, a few are claimed ahead.
        for _ in 0..20 {
            let completion = put_back();
            ledger.done(&completion);
            ledger.settled(&completion, true);
        }
        assert_eq!(ledger.to_claim(load(4, 0, 4), usize::MAX), 20);
        assert_eq!(ledger.to_claim(load(19, 15, 4), usize::MAX), 0, "not worth a claim");
        assert_eq!(ledger.to_claim(load(18, 14, 4), usize::MAX), 6);
        assert_eq!(ledger.to_claim(load(23, 0, 3), usize::MAX), 1, "a place is empty");
    }
}
