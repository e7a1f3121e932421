//! Starting: the choice of the next item and its time, the limits of ready items, the queries of a
//! worker to the store about them, and the right to run handlers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Engine;
use super::attempt::Completion;
use super::limits::breaker::JobBreaker;
use super::limits::capacity::Shortage;
use super::limits::exclusive::Admission;
use super::limits::keys::{LastRate, Reserved};
use super::operations::{EngineEvent, Operation};
use crate::item::clock::{Timestamp, by_clock};
use crate::item::lease::{Lease, Settled};
use crate::job::event::{JobEvent, WaitReason};
use crate::job::rate::Rate;
use crate::job::record::StopReason;
use crate::store::StoreError;

/// A suspect, beside which nothing else runs, is claimed once the job's rate lets it start so soon.
const NEAR: Duration = Duration::from_secs(1);

/// A worker runs a suspect only once it has lived for so long. What kills workers sooner, one after
/// the other, is not the item.
const MIN_WORKER_AGE: Duration = Duration::from_secs(5);

impl Engine {
    pub(super) fn start_tasks(&mut self, now: Instant) {
        // A worker that was stopped for a while has to check first what it still holds. The lease of
        // the next item is the one that ends first.
        let is_past = self.leases.is_next_past();
        if is_past {
            self.extend_at = now;
        }
        // Once unsettled results are going to stop the job, nothing is started beyond the limit.
        let may_start =
            !is_past && self.has_item_to_start() && self.access.admits(self.tasks.len());
        let most = if self.access.is_exclusive() { 1 } else { self.capacity.limit() };
        while may_start
            && self.tasks.len() < most
            && self.breaker.as_ref().is_none_or(|breaker| breaker.admits(self.tasks.len()))
            && let Some(place) = self.next_to_start()
        {
            let Some(lease) = self.leases.start(place) else { break };
            let item = lease.key.item;
            let handler = Arc::clone(&self.attempts).run(lease);
            let handler = self.tasks.spawn(by_clock(Arc::clone(&self.attempts.clock), handler));
            self.leases.handed_to(item, handler);
        }
        while self.stopping.is_some()
            && let Some(lease) = self.leases.remove_ready(0)
        {
            self.finished.push(Completion::released(lease.key));
        }
        // The slot that it was claimed for is gone, but the store has it as started. A suspect
        // keeps its slot until the limits let it start.
        while !self.suspect_waits()
            && let Some(lease) = self.leases.next_claimed_as_started()
        {
            self.finished.push(Completion::released(lease.key));
        }
    }

    /// The first gate that is closed, which keeps all items from being claimed and from starting:
    /// how long that lasts, zero if only an event ends it, and the reason.
    pub(super) fn closed_gate(&self) -> Option<(Duration, WaitReason)> {
        if let Some(wait) = self.schedule.closed_for(|| self.store.now()) {
            return Some((wait, WaitReason::Start { wait }));
        }
        let wait = self.rejected_for();
        if !wait.is_zero() {
            return Some((wait, WaitReason::Breaker { wait }));
        }
        let until = self.capacity.paused_until()?;
        Some((until.saturating_duration_since(Instant::now()), WaitReason::Resources))
    }

    /// Returns how long the breaker of the job lets no item start.
    pub(super) fn rejected_for(&self) -> Duration {
        self.breaker.as_ref().map(JobBreaker::rejects_for).unwrap_or_default()
    }

    /// Runs fewer items at the same time, because one could not begin.
    pub(super) fn could_not_begin(&mut self, why: &str) {
        let shortage = self.capacity.not_begun(self.tasks.len(), Instant::now());
        if shortage == Shortage::Starved {
            self.stop(StopReason::NothingBegins { why: why.to_owned() });
        } else if !std::mem::replace(&mut self.is_shortage_reported, true) {
            let max_parallel = self.capacity.limit();
            self.collector.emit(&JobEvent::NotBegun { why, max_parallel });
        }
    }

    /// Requests the right to run the items in hand, or to run a suspect alone, and gives it up when
    /// it is no longer needed.
    pub(super) fn update_access(&mut self) {
        if self.tasks.is_empty() {
            self.access.is_empty();
        }
        let is_idle = self.is_idle();
        if self.stopping.is_some() && is_idle {
            self.access.leave();
            return;
        }
        let has_nothing = self.leases.are_handed_out();
        if !self.operations.is_under_way(Operation::Enter)
            && (is_idle || (!has_nothing && self.tasks.is_empty() && self.may_start_soon()))
            && (is_idle || !self.is_limited())
            && let Some(admission) = self.access.admission(is_idle)
        {
            let (shared, exclusive) = (self.access.shared(), self.access.exclusive());
            self.operations.start(Operation::Enter, |_, _| async move {
                Ok(match admission {
                    Admission::Shared => EngineEvent::Entered(shared.await),
                    Admission::Exclusive => EngineEvent::Exclusive(exclusive.await),
                })
            });
        }
        if self.access.is_exclusive() && is_idle {
            let may_start = self.may_start_soon() && self.near_start().0.is_zero();
            if self.access.turn_has_ended() || !may_start {
                self.end_exclusive();
            } else {
                self.start_claiming_suspect();
            }
        }
    }

    /// Returns whether only other jobs keep a handler from starting.
    pub(super) fn may_start_soon(&self) -> bool {
        !self.ledger.will_stop(&self.policy)
            && self.closed_gate().is_none()
            && self.breaker.as_ref().is_none_or(|breaker| breaker.admits(self.tasks.len()))
    }

    pub(super) fn end_exclusive(&mut self) {
        self.access.leave();
        self.ledger.changed();
        self.claim_soon();
    }

    /// Returns how long until this worker has lived long enough to run suspects.
    pub(super) fn trust_delay(&self) -> Duration {
        MIN_WORKER_AGE.saturating_sub(self.began.elapsed())
    }

    /// Returns whether an item is ready, and a place for it free.
    fn has_item_to_start(&self) -> bool {
        !self.leases.are_handed_out()
            && self.tasks.len() < self.capacity.limit()
            && self.stopping.is_none()
            && self.may_start_soon()
    }

    /// Returns whether items may have to wait although they are ready and places are free.
    pub(super) fn has_limits(&self) -> bool {
        self.keys.is_some()
    }

    /// The item that can start now, by its place among those that are ready.
    pub(super) fn next_to_start(&mut self) -> Option<usize> {
        let Some(keys) = &mut self.keys else {
            return (!self.leases.are_handed_out()).then_some(0);
        };
        let now = self.store.now();
        let can_start = |item| keys.start_of(item, now).is_some_and(|at| at <= now);
        let place = self.leases.ready_items().position(can_start)?;
        keys.started(self.leases.ready_items().nth(place)?, now);
        Some(place)
    }

    /// Returns when something can be done with the next item that is ready, and the rate that it
    /// waits for, and until when; `None` if only an event can change that.
    fn next_start(&self) -> Option<(Timestamp, Option<LastRate>)> {
        let Some(keys) = &self.keys else { return Some((Timestamp::default(), None)) };
        let now = self.store.now();
        let turns = self.leases.ready_items().filter_map(|item| keys.turn_of(item, now));
        turns.min_by_key(|(at, _)| *at)
    }

    /// Returns whether a limit keeps everything that is ready from starting now.
    pub(super) fn is_limited(&self) -> bool {
        self.has_limits() && self.next_start().is_none_or(|(at, _)| at > self.store.now())
    }

    /// Returns how long until a limit lets the next item start, and which rate that is; `None` if
    /// nothing waits for that.
    pub(super) fn until_start(&self) -> Option<(Duration, Option<(Duration, Rate)>)> {
        if !self.has_limits() || !self.has_item_to_start() {
            return None;
        }
        let ((at, rate), now) = (self.next_start()?, self.store.now());
        let wait = at.since(now);
        // If it is due, something else keeps the item from starting.
        (!wait.is_zero()).then_some((wait, rate.map(|(at, rate)| (at.since(now), rate))))
    }

    /// Returns how long until the job's rates let a suspect start soon, and the one that it waits
    /// for.
    pub(super) fn near_start(&self) -> (Duration, Option<Rate>) {
        let now = self.store.now();
        let next = self.keys.as_ref().and_then(|keys| keys.next_start(now));
        next.map_or((Duration::ZERO, None), |(next, rate)| {
            (next.since(now).saturating_sub(NEAR), Some(rate))
        })
    }

    /// Returns whether a suspect is in hand that the limits will soon let start.
    pub(super) fn suspect_waits(&self) -> bool {
        self.has_limits()
            && self.access.is_exclusive()
            && self.has_item_to_start()
            && self.near_start().0.is_zero()
    }

    /// Reserves the starts and places that the limits require for items that are ready.
    pub(super) fn start_reserving(&mut self) {
        let (now, can_start) = (self.store.now(), self.has_item_to_start());
        let free = self.capacity.limit().saturating_sub(self.tasks.len());
        let Some(keys) = &mut self.keys else { return };
        if self.operations.is_under_way(Operation::Reserve) {
            return;
        }
        keys.tidy(|item| self.leases.holds(item), now);
        let ready = || self.leases.ready_items();
        let most = if can_start { keys.most_to_reserve(ready(), free, now) } else { 0 };
        if let Some(reservation) = keys.reservation(ready(), most, now) {
            self.operations.start(Operation::Reserve, |store, job| async move {
                reservation.make(&*store, &job).await.map(EngineEvent::Reserved)
            });
        }
    }

    /// Gives back what this worker has of the limits, because it leaves.
    pub(super) async fn leave_limits(&mut self) -> Result<(), StoreError> {
        if let Some(EngineEvent::Reserved(reserved)) =
            self.operations.finish(Operation::Reserve).await?
        {
            self.reserved(reserved);
        }
        let now = self.store.now();
        if let Some(reservation) = self.keys.as_mut().and_then(|keys| keys.leaving(now)) {
            reservation.make(&*self.store, &self.job).await?;
        }
        Ok(())
    }

    /// Takes over which items can start, and puts the others back.
    pub(super) fn reserved(&mut self, reserved: Reserved) {
        let Some(keys) = &mut self.keys else { return };
        let now = self.store.now();
        for (item, due) in keys.reserved(reserved, now) {
            if let Some(lease) = self.leases.take_ready(item) {
                keys.ended(item, now);
                let Lease { key, id, checkpoint, .. } = lease;
                let end = Settled::Deferred { due, checkpoint, for_limit: true };
                self.finished.push(Completion::not_started(key, id, end));
            }
        }
    }
}
