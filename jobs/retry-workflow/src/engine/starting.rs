//! The choice of the next item to start, and its time: the limits of ready items, and a worker's
//! queries to the store.

use std::time::Duration;

use tokio::time::Instant;

use super::Engine;
use super::attempt::Completion;
use super::limits::keys::Answer;
use super::limits::pace::{self, Pace, Reserved};
use super::operations::{EngineEvent, Operation};
use crate::item::clock::Timestamp;
use crate::item::record::Lease;
use crate::store::StoreError;

/// A suspect, beside which nothing else runs, is claimed once the job's rate lets it start so soon.
const NEAR: Duration = Duration::from_secs(1);

impl Engine {
    /// Returns whether an item is ready, and a place for it free.
    fn has_item_to_start(&self) -> bool {
        !self.leases.are_handed_out()
            && self.tasks.len() < self.capacity.limit()
            && self.stopping.is_none()
            && self.may_start_soon()
    }

    /// Returns whether items may have to wait although they are ready and places are free.
    pub(super) fn has_limits(&self) -> bool {
        self.pace.is_some() || self.keys.is_some()
    }

    /// The item that can start now, by its place among those that are ready. If the job has a rate,
    /// this uses one of its starts.
    pub(super) fn next_to_start(&mut self) -> Option<usize> {
        if !self.has_limits() {
            return (!self.leases.are_handed_out()).then_some(0);
        }
        let now = self.store.now();
        let place = match &self.keys {
            None => 0,
            Some(keys) => self
                .leases
                .ready_items()
                .position(|item| keys.start_of(item, now).is_some_and(|at| at <= now))?,
        };
        let item = self.leases.ready_items().nth(place)?;
        if !self.pace.as_mut().is_none_or(|pace| pace.take(now)) {
            return None;
        }
        if let Some(keys) = &mut self.keys {
            keys.started(item, now);
        }
        Some(place)
    }

    /// Returns when the next item can start that is ready; `None` if only an event can change that.
    fn next_start(&self) -> Option<Timestamp> {
        let by_key = match &self.keys {
            None => Timestamp::default(),
            Some(keys) => {
                let now = self.store.now();
                self.leases.ready_items().filter_map(|item| keys.turn_of(item, now)).min()?
            }
        };
        Some(self.pace.as_ref().map_or(Some(by_key), Pace::next)?.max(by_key))
    }

    /// Returns whether a limit keeps everything that is ready from starting now.
    pub(super) fn is_limited(&self) -> bool {
        self.has_limits() && self.next_start().is_none_or(|at| at > self.store.now())
    }

    /// Returns how long until a limit lets the next item start; `None` if nothing waits for that.
    pub(super) fn until_start(&self) -> Option<Duration> {
        let is_waiting = self.has_limits() && self.has_item_to_start();
        let wait = self.next_start().filter(|_| is_waiting)?.since(self.store.now());
        // If it is due, something else keeps the item from starting.
        (!wait.is_zero()).then_some(wait)
    }

    /// Returns how long until the next start that this worker has reserved is near enough for a
    /// suspect.
    pub(super) fn until_near_start(&self) -> Duration {
        let next = self.pace.as_ref().and_then(Pace::next);
        next.map_or(Duration::ZERO, |next| next.since(self.store.now())).saturating_sub(NEAR)
    }

    /// Returns whether a suspect is in hand that the limits will soon let start.
    pub(super) fn suspect_waits(&self) -> bool {
        self.has_limits()
            && self.access.is_exclusive()
            && self.has_item_to_start()
            && self.until_near_start().is_zero()
    }

    /// Asks for what the limits require of items that are ready.
    pub(super) fn ask_limits(&mut self) {
        if !self.has_limits() {
            return;
        }
        self.start_reserving();
        self.start_asking();
        self.start_at = self.until_start().map(|wait| Instant::now() + wait);
    }

    /// Reserves starts for what is ready.
    fn start_reserving(&mut self) {
        let free = self.capacity.limit().saturating_sub(self.tasks.len());
        let is_wanted =
            self.has_item_to_start() && !self.operations.is_under_way(Operation::Reserve);
        if let Some(pace) = self.pace.as_mut().filter(|_| is_wanted)
            && let Some(count) = pace.missing(free, self.store.now())
        {
            let reservation = pace.reservation(count);
            self.operations.start(Operation::Reserve, |store, job| async move {
                pace::reserve(&*store, &job, reservation).await.map(EngineEvent::Reserved)
            });
        }
    }

    /// Asks whether the keys of what is ready are free.
    fn start_asking(&mut self) {
        if self.keys.is_none() || self.operations.is_under_way(Operation::AskKeys) {
            return;
        }
        let (now, can_start) = (self.store.now(), self.has_item_to_start());
        let Some(keys) = &mut self.keys else { return };
        keys.tidy(|item| self.leases.holds(item), now);
        // Those that can start now come first.
        let free = self.capacity.limit().saturating_sub(self.tasks.len());
        let due = self.leases.ready_items().filter_map(|item| keys.start_of(item, now));
        let taken = due.filter(|at| *at <= now).count();
        let most = if can_start { free.saturating_sub(taken) } else { 0 };
        if let Some(question) = keys.question(self.leases.ready_items(), most, now) {
            self.operations.start(Operation::AskKeys, |store, job| async move {
                question.ask(&*store, &job).await.map(EngineEvent::Keys)
            });
        }
    }

    /// Takes over starts that were reserved.
    pub(super) fn reserved(&mut self, reserved: Reserved) {
        let now = self.store.now();
        if let Some(pace) = &mut self.pace {
            pace.add(reserved, now);
        }
    }

    /// Gives back what this worker has of the limits, because it leaves.
    pub(super) async fn leave_limits(&mut self) -> Result<(), StoreError> {
        if let Some(EngineEvent::Reserved(reserved)) =
            self.operations.finish(Operation::Reserve).await?
        {
            self.reserved(reserved);
        }
        if let Some(unused) = self.pace.as_ref().and_then(Pace::unused) {
            pace::give_back(&*self.store, &self.job, unused).await?;
        }
        if let Some(EngineEvent::Keys(answer)) = self.operations.finish(Operation::AskKeys).await? {
            self.answered(answer);
        }
        let now = self.store.now();
        if let Some(question) = self.keys.as_mut().and_then(|keys| keys.leaving(now)) {
            question.ask(&*self.store, &self.job).await?;
        }
        Ok(())
    }

    /// Takes over which items can start, and puts the others back.
    pub(super) fn answered(&mut self, Answer { verdicts, until }: Answer) {
        let Some(keys) = &mut self.keys else { return };
        keys.granted(until);
        let now = self.store.now();
        for (item, verdict) in verdicts {
            if let Some(due) = keys.answered(item, verdict, now)
                && let Some(lease) = self.leases.take_ready(item)
            {
                keys.ended(item, now);
                self.finished.push(Completion::deferred(lease, due));
            }
        }
    }

    /// Takes in an item that was claimed.
    pub(super) fn take_in(&mut self, lease: Lease, is_started: bool, until: Timestamp) {
        // Of one whose lease had expired, and that this worker has still, nothing changes.
        if let Some(keys) = &mut self.keys
            && !self.leases.is_continued_by(&lease)
        {
            keys.add(lease.key.item, &lease.payload, self.store.now());
        }
        self.leases.add(lease, is_started, until);
    }

    /// Returns when to claim again what waited for its key.
    pub(super) fn claim_keyed_soon(&mut self) {
        if let Some(keys) = self.keys.as_ref().filter(|_| self.claim_at.is_none())
            && !self.is_idle()
        {
            self.claim_at = Some(Instant::now() + keys.claim_every());
        }
    }
}
