//! Claiming: how many items a worker leases and when, suspects among them; the renewal of leases,
//! and the items that are added to the store.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Engine;
use super::attempt::Completion;
use super::leases::Load;
use super::limits::breaker::JobBreaker;
use super::limits::keys::JobLimits;
use super::operations::{EngineEvent, Operation};
use crate::engine::source::input::{InputCounts, check_id_rule, compare};
use crate::item::clock::Timestamp;
use crate::item::lease::{Lease, Selection, Settled};
use crate::item::record::NewItem;
use crate::item::sanitize::OneLine;
use crate::job::error::WorkflowError;
use crate::job::event::JobEvent;
use crate::job::record::{Job, StopReason};
use crate::store::{MAX_CLAIM_BYTES, StoreError};
use crate::words::count;

/// A suspect waits until nothing else is due, but no longer than this.
const SUSPECT_MAX_WAIT: Duration = Duration::from_secs(60);

impl Engine {
    /// Returns whether it is the turn of the suspect that is due then: when nothing else is due, or
    /// after a while.
    pub(super) fn is_time_for(&self, suspect: Option<Timestamp>, is_current: bool) -> bool {
        let Some(due) = suspect.filter(|_| self.stopping.is_none() && self.may_start_soon()) else {
            return false;
        };
        let now = self.store.now();
        due + SUSPECT_MAX_WAIT <= now || (is_current && self.is_idle() && due <= now)
    }

    pub(super) fn start_claiming_suspect(&mut self) {
        let (worker, lease) = (Arc::clone(&self.worker), self.lease);
        self.leases.claim_begins(self.operations.is_under_way(Operation::Settle));
        self.operations.start(Operation::Claim, |store, job| async move {
            let (now, suspect) = (store.now(), Selection::Suspect);
            let mut leases = store.claim(&job, &worker, now, suspect, lease).await?;
            Ok(EngineEvent::ClaimedSuspect(leases.pop(), now + lease))
        });
    }

    pub(super) fn may_claim(&self) -> bool {
        self.stopping.is_none()
            && !self.operations.is_under_way(Operation::Claim)
            && !self.operations.is_under_way(Operation::Extend)
            && self.to_claim() > 0
            && !self.leases.are_large()
            && self.access.is_open()
            && self.closed_gate().is_none()
    }

    pub(super) fn to_claim(&self) -> usize {
        let limit = self.breaker.as_ref().map_or(usize::MAX, JobBreaker::most_held);
        let limit = self.capacity.throttle().map_or(limit, |throttle| limit.min(throttle.limit));
        let most_ready =
            self.keys.as_ref().map_or(usize::MAX, |keys| keys.most_ready(self.store.now()));
        let limit = limit.min(self.tasks.len().saturating_add(most_ready));
        // An item that waits in hand for a place of its key must not keep other items waiting.
        let queued = self.keys.as_ref().map_or(0, JobLimits::queued);
        let Load { held, ready, running } = self.leases.load(self.tasks.len());
        let load = Load {
            held: held.saturating_sub(queued),
            ready: ready.saturating_sub(queued),
            running,
        };
        self.ledger.to_claim(load, limit)
    }

    pub(super) fn start_claiming(&mut self) {
        let wanted = self.to_claim();
        let free = self.capacity.limit().saturating_sub(self.tasks.len());
        // An item that waits for its start has not been started.
        let starts = if self.has_limits() { 0 } else { self.leases.free_beyond_ready(free) };
        self.claim_at = None;
        let (worker, lease) = (Arc::clone(&self.worker), self.lease);
        let selection = Selection::Items { max: wanted, starts };
        self.leases.claim_begins(self.operations.is_under_way(Operation::Settle));
        self.operations.start(Operation::Claim, |store, job| async move {
            let now = store.now();
            let leases = store.claim(&job, &worker, now, selection, lease).await?;
            Ok(EngineEvent::Claimed { leases, until: now + lease, wanted, starts })
        });
    }

    pub(super) fn claimed(
        &mut self,
        leases: Vec<Lease>,
        until: Timestamp,
        (wanted, starts): (usize, usize),
    ) {
        // If there are fewer than requested, no more are due. Any event claims again, and may have
        // done so while this claim was under way.
        let bytes: usize = leases.iter().map(|lease| lease.payload.len()).sum();
        if leases.len() >= wanted || bytes >= MAX_CLAIM_BYTES {
            self.claim_soon();
        }
        if !leases.is_empty() {
            self.ledger.changed();
            self.polling.due = None;
        } else if self.waiting >= self.most_waiting {
            // Other workers have leased them.
            self.start_polling(false);
        }
        for (place, lease) in leases.into_iter().enumerate() {
            if self.leases.renew(lease.key, place < starts, until) {
                continue;
            }
            if (lease.run, lease.attempt) == (0, 1) && lease.checkpoint.is_none() {
                self.waiting = self.waiting.saturating_sub(1);
            }
            if let Some(failure) = self.schedule.too_late(&lease, || self.store.now()) {
                let end = Settled::skipped(Some(failure));
                let skipped = Completion::not_started(lease.key, lease.id, end);
                self.ledger.done(&skipped);
                self.finished.push(skipped);
                continue;
            }
            self.take_in(lease, place < starts, until);
        }
        self.claim_keyed_soon();
    }

    pub(super) fn claim_soon(&mut self) {
        self.claim_at = Some(Instant::now());
    }

    /// Renews the leases of this worker, and returns `false` if that is under way already.
    pub(super) fn start_extending(&mut self) -> bool {
        if self.operations.is_under_way(Operation::Extend) {
            return false;
        }
        if self.leases.is_empty() {
            return true;
        }
        let (keys, started, lease) = (self.leases.keys(), self.leases.starts(), self.lease);
        self.operations.start(Operation::Extend, |store, _| async move {
            let until = store.now() + lease;
            let good = store.extend(keys.clone(), started, until).await?;
            Ok(EngineEvent::Renewed { keys, good, until })
        })
    }

    pub(super) fn enqueue(&mut self, mut items: Vec<NewItem>) {
        if items.is_empty() {
            self.claim_soon();
            return;
        }
        if let Some(priority) = &self.priority {
            for item in &mut items {
                item.priority = serde_json::from_str(&item.payload).map_or(0, |it| priority(&it));
            }
        }
        let since = self.input.since;
        let given: Vec<_> =
            items.iter().map(|item| (item.id.clone(), item.payload.clone())).collect();
        self.operations.start(Operation::Enqueue, |store, job| async move {
            let new = store.enqueue(&job, items, store.now()).await?;
            let known = (given.len() as u64).saturating_sub(new);
            let mut counts = InputCounts { new, known, ..InputCounts::default() };
            if known > 0 {
                compare((&*store, &job), given, since, &mut counts).await?;
            }
            Ok(EngineEvent::Enqueued(counts))
        });
    }

    /// Takes note of items that the store has taken. Two items of a new job with the same id and
    /// different payloads stop it if its source gives all items once (`gives_all`): one of them
    /// would be lost. Any other source may give an item again that has changed since.
    pub(super) fn enqueued(&mut self, mut counts: InputCounts, gives_all: bool) {
        let is_new_job = gives_all && !self.input.has_begun && self.polling.is_alone();
        if is_new_job {
            counts.repeated = counts.known.saturating_sub(counts.changed);
        }
        self.waiting += counts.new;
        self.input.counts.add(counts);
        self.ledger.changed();
        self.claim_soon();
        if let Some(item) = self.input.counts.first_changed.clone().filter(|_| is_new_job) {
            self.input_failed(WorkflowError::SameId { item });
        }
    }

    /// Compares the rule for ids with the job's, once it is known.
    pub(super) async fn check_id_rule(
        &mut self,
        rule: Option<String>,
    ) -> Result<(), WorkflowError> {
        if !self.input.is_id_rule_known && rule.is_some() {
            let job = Job::get(&*self.store, &self.job).await?;
            self.input.is_id_rule_known = check_id_rule(&*self.store, &job, rule).await?;
        }
        Ok(())
    }

    pub(super) fn input_failed(&mut self, error: WorkflowError) {
        self.stop(StopReason::input(&error));
        self.input.result = Err(error);
    }

    /// Reports how the input differs from what the job had before.
    pub(super) async fn input_ended(&mut self, gives_all: bool) -> Result<(), StoreError> {
        let InputCounts { new, known, changed, first_changed, .. } = &self.input.counts;
        if let Some(item) = first_changed {
            tracing::warn!(
                target: "retry_workflow",
                job = &*self.job,
                item,
                changed,
                "{} of the input, the first of them `{}`, had other payloads when the job `{}` got \
                 them: the job keeps them as they were",
                count(*changed, "item"),
                OneLine(item),
                OneLine(&self.job),
            );
        }
        // Any other source may give only what is new.
        if self.input.has_begun && gives_all {
            let total = self.store.counts(&self.job).await?.total();
            let gone = total.saturating_sub(new + known);
            let (new, known, changed) = (*new, *known, *changed);
            self.collector.emit(&JobEvent::Input { new, known, changed, gone });
        }
        Ok(())
    }

    /// Takes in an item that was claimed.
    pub(super) fn take_in(&mut self, lease: Lease, is_started: bool, until: Timestamp) {
        if let Some(keys) = &mut self.keys {
            keys.add(lease.key.item, &lease.payload, self.store.now());
        }
        self.leases.add(lease, is_started, until);
    }

    /// Schedules the next claim of items that waited for their keys.
    pub(super) fn claim_keyed_soon(&mut self) {
        if let Some(keys) = self.keys.as_ref().filter(|keys| keys.has_keys())
            && self.claim_at.is_none()
            && !self.is_idle()
        {
            self.claim_at = Some(Instant::now() + keys.claim_every());
        }
    }
}
