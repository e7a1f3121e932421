//! Settling: outcomes that are passed to the store, and the limits at which a job stops.

use tokio::time::Instant;

use super::attempt::Completion;
use super::operations::{EngineEvent, Operation};
use super::{DEADLINE_GRACE, Engine};
use crate::engine::source::DynSource;
use crate::item::lease::Settlement;
#[cfg(feature = "metrics")]
use crate::item::record::ItemState;
use crate::item::record::{AttemptOutcome, AttemptRecord};
use crate::job::error_policy::OnOpen;
use crate::job::event::JobEvent;
use crate::job::record::StopReason;

impl Engine {
    pub(super) fn start_settling(&mut self) {
        if self.finished.is_empty() || self.operations.is_under_way(Operation::Settle) {
            return;
        }
        let mut finished = std::mem::take(&mut self.finished);
        let leases = &mut self.leases;
        leases.settlement_begins();
        let has_listeners = self.collector.has_listeners();
        #[cfg(feature = "metrics")]
        let metrics = &mut self.metrics;
        let settle = |finished: &mut Completion| {
            let settlement = finished.settlement.take()?;
            if has_listeners {
                // Postponed attempts have been reported one by one.
                let is_new = |row: &&AttemptRecord| row.outcome != AttemptOutcome::Postponed;
                finished.reported.extend(settlement.history.iter().filter(is_new).cloned());
            }
            // No longer held: once settled, the item may be claimed again before the result
            // arrives.
            #[cfg(feature = "metrics")]
            if finished.state.is_some() || !settlement.history.is_empty() {
                metrics.count(finished.state.unwrap_or(ItemState::Pending), 1);
                metrics.took(&settlement);
            }
            leases.settle(settlement.lease);
            Some(settlement)
        };
        let settlements: Vec<Settlement> = finished.iter_mut().filter_map(settle).collect();
        let started = self.leases.starts();
        self.operations.start(Operation::Settle, |store, _| async move {
            let good = store.settle(settlements, started, store.now()).await?;
            Ok(EngineEvent::Settled(finished, good))
        });
    }

    /// Handles the store's result for one item.
    pub(super) fn settled(&mut self, finished: Completion, good: bool, source: &mut dyn DynSource) {
        self.ledger.settled(&finished, good);
        if self.claim_at.is_none() && finished.state.is_none() {
            self.claim_soon();
        }
        // Another worker has the item now, and will report what becomes of it.
        if !good {
            return;
        }
        let last = finished.reported.len().saturating_sub(1);
        for (at, attempt) in finished.reported.iter().enumerate() {
            let state = finished.state.filter(|_| at == last);
            let (job, item) = (&*self.job, finished.id.as_str());
            self.collector.emit(&JobEvent::Attempt { job, item, attempt, state });
        }
        if let Some(state) = finished.state
            && source.report_end(&finished.id, state)
        {
            self.input_complete = false;
        }
        if let Some(failure) = finished.failure {
            if finished.stops {
                self.stop(StopReason::Item {
                    item: failure.item.clone(),
                    message: failure.failure.to_string(),
                });
            }
            self.collector.add(failure);
        }
    }

    /// Stops the job if its policy requires it: a limit is exceeded, or the breaker is open.
    pub(super) fn check_bounds(&mut self) {
        if let Some(reason) = self.ledger.exceeded(&self.policy) {
            self.stop(reason);
        }
        if self.policy.on_open == OnOpen::Stop
            && self.breaker.as_ref().is_some_and(|breaker| !breaker.open_for().is_zero())
        {
            self.stop(StopReason::BreakerOpen);
        }
    }

    /// Starts nothing more, and lets running items finish for as long as they may.
    pub(super) fn stop(&mut self, reason: StopReason) {
        if self.stopping.is_none() {
            self.collector.emit(&JobEvent::Stopping { reason: &reason });
            let by_default = (reason == StopReason::Deadline).then_some(DEADLINE_GRACE);
            let within = self.stop_within.or(by_default);
            self.release_at = within.and_then(|within| Instant::now().checked_add(within));
            self.stopping = Some(reason);
        }
    }
}
