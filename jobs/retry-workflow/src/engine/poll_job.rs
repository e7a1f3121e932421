//! [`JobPolling`]: how a worker keeps an eye on its job. It listens for changes, looks at the job as a
//! whole, renews its heartbeat, shares its breaker, and reports progress.

use std::time::Duration;

use tokio::time::Instant;

use super::Engine;
use super::heartbeat::{Beat, Heartbeat};
use super::operations::{EngineEvent, JobPoll, Operation};
use crate::item::clock::Timestamp;
use crate::item::summary::Overview;
use crate::job::event::{JobEvent, WaitReason};
use crate::job::worker_record::WorkerRecord;

/// The interval at which a worker with work in hand polls the store.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// A worker without work waits for the store to report a change, but looks at least this often.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(60);
/// The shortest time between two looks, however many changes the store reports.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The results of a worker's polls of its job.
pub(super) struct JobPolling {
    heartbeat: Heartbeat,
    /// The time to renew the heartbeat.
    beat_at: Instant,
    /// The other workers of the job.
    others: Vec<WorkerRecord>,
    /// The time of the next tick, once per second.
    pub(super) tick_at: Instant,
    /// The time at which the store was last polled.
    polled_at: Option<Instant>,
    /// Set if some results were already on their way at that poll: they may be older than it.
    is_poll_partial: bool,
    /// The number of changes there had been at the last look at the job as a whole.
    pub(super) polled_change: Option<u64>,
    /// The changes that the store has reported so far.
    seen: u64,
    /// The time at which the next item is due, if none is due now.
    pub(super) due: Option<Timestamp>,
    /// Set if a suspect is due that this worker may not run yet.
    is_too_early: bool,
    /// The number of skipped items when this worker last checked its leases.
    skipped: u64,
}

impl JobPolling {
    pub(super) fn new(heartbeat: Heartbeat, others: Vec<WorkerRecord>) -> Self {
        Self {
            beat_at: Instant::now() + heartbeat.every(),
            heartbeat,
            others,
            tick_at: Instant::now() + POLL_INTERVAL,
            polled_at: None,
            is_poll_partial: false,
            polled_change: None,
            seen: 0,
            due: None,
            is_too_early: false,
            skipped: 0,
        }
    }

    pub(super) fn heartbeat(&self) -> &Heartbeat {
        &self.heartbeat
    }

    /// Returns whether no other worker works on the job.
    pub(super) fn is_alone(&self) -> bool {
        // One without a name has reserved the job for this process.
        self.others.iter().all(|other| other.worker.is_empty())
    }
}

impl Engine {
    /// Returns when to listen for the next change, unless that is under way. A worker that has work
    /// in hand looks every second anyway.
    pub(super) fn listen_at(&self) -> Option<Instant> {
        let pause = if self.is_idle() { MIN_POLL_INTERVAL } else { POLL_INTERVAL };
        let is_wanted = self.stopping.is_none() && !self.operations.is_under_way(Operation::Listen);
        is_wanted.then(|| self.polling.polled_at.map_or_else(Instant::now, |at| at + pause))
    }

    pub(super) fn start_listening(&mut self) {
        let seen = self.polling.seen;
        self.operations.start(Operation::Listen, |store, job| async move {
            store.changed(&job, seen).await.map(EngineEvent::Changed)
        });
    }

    pub(super) fn changed(&mut self, seen: u64) {
        self.polling.seen = seen;
        // Earlier results may be out of date.
        self.ledger.changed();
        self.claim_soon();
        self.poll_now();
    }

    /// Does the work of each second: a worker without work does it without the store.
    pub(super) fn tick(&mut self) {
        let now = Instant::now();
        self.polling.tick_at = now + POLL_INTERVAL;
        let is_old = self.polling.polled_at.is_none_or(|at| at + MAX_POLL_INTERVAL <= now);
        if !self.is_idle() || is_old || self.polling.is_poll_partial {
            self.poll_now();
            return;
        }
        if self.polling.beat_at <= now || self.polling.others.iter().any(WorkerRecord::is_dead) {
            self.start_beating();
        }
        self.report_progress();
    }

    /// Looks at what other processes have done, and shares what they need to know.
    fn poll_now(&mut self) {
        let all = [Operation::Poll, Operation::Heartbeat, Operation::ShareBreaker];
        self.polling.is_poll_partial =
            all.into_iter().any(|operation| self.operations.is_under_way(operation));
        self.polling.polled_at = Some(Instant::now());
        self.start_polling(true);
        if self.claim_at.is_none() {
            self.claim_soon();
        }
        self.start_beating();
        self.share_breaker();
    }

    /// Looks at the job as a whole; regularly, or because something has to be known now.
    pub(super) fn start_polling(&mut self, is_regular: bool) {
        // Other workers lease what this one enqueues.
        let with_waiting =
            !self.input_complete && (is_regular || self.waiting >= self.most_waiting);
        let most = if with_waiting { self.most_waiting } else { 0 };
        let changes = self.ledger.changes();
        let is_started = self.operations.start(Operation::Poll, |store, job| async move {
            let overview = store.overview(&job, most).await?;
            Ok(EngineEvent::Polled(JobPoll { changes, overview, with_waiting, is_regular }))
        });
        if is_started {
            self.polling.polled_change = Some(changes);
        }
    }

    pub(super) fn polled(&mut self, poll: JobPoll) {
        let JobPoll { changes, overview, with_waiting, is_regular } = poll;
        let Overview { counts, next_due, next_suspect, .. } = overview;
        if with_waiting {
            self.waiting = overview.waiting;
        }
        #[cfg(feature = "metrics")]
        {
            // An item that may not start yet is not overdue. One that an open breaker holds is.
            let is_scheduled = self.schedule.closed_for(|| self.store.now()).is_none();
            let may_start = is_scheduled && !self.is_limited();
            self.metrics.next_due(next_due.filter(|_| may_start));
        }
        // An item that this worker runs may have been cancelled.
        if counts.skipped != self.polling.skipped && self.start_extending() {
            self.polling.skipped = counts.skipped;
        }
        let is_settling = self.operations.is_under_way(Operation::Settle);
        self.ledger.counted(changes, counts, is_settling);
        // Something that has changed since may be due earlier.
        let is_current = self.ledger.is_current();
        let mut goes_on_later = false;
        if self.stopping.is_none() && !self.access.waits_for_exclusive() {
            let is_time = self.is_time_for(next_suspect, is_current);
            let wait = self.trust_delay().max(self.near_start().0);
            self.polling.is_too_early = is_time && !wait.is_zero();
            if is_time && wait.is_zero() {
                self.access.request_exclusive();
            } else if is_current && self.is_idle() {
                if is_time {
                    // Only the suspect is due, and `next_due` does not say what comes next.
                    self.claim_at = Some(Instant::now() + wait.min(MIN_POLL_INTERVAL));
                    self.polling.due = None;
                } else {
                    self.sleep_until(next_due);
                }
                goes_on_later = next_due.is_some();
            }
        }
        // A wait is reported once it lasts.
        if is_regular || !goes_on_later {
            self.report_progress();
        }
        self.check_bounds();
        // Nothing else would trigger another look.
        if self.is_idle() && !is_current {
            self.start_polling(false);
        }
    }

    /// Nothing can be claimed before `due`.
    fn sleep_until(&mut self, due: Option<Timestamp>) {
        // The store reports items that are added or put back.
        let wait =
            due.map_or(MAX_POLL_INTERVAL, |due| due.since(self.store.now()).min(MAX_POLL_INTERVAL));
        self.claim_at = Some(Instant::now() + wait);
        self.polling.due = due;
    }

    fn start_beating(&mut self) {
        let heartbeat = self.polling.heartbeat.clone();
        let throttle = self.capacity.throttle();
        let is_started = self.operations.start(Operation::Heartbeat, |store, _| async move {
            heartbeat.beat(&*store, throttle).await.map(EngineEvent::Beaten)
        });
        if is_started {
            self.polling.beat_at = Instant::now() + self.polling.heartbeat.every();
        }
    }

    pub(super) fn beaten(&mut self, Beat { freed, request, others }: Beat) {
        self.polling.others = others;
        if let Some(request) = request {
            self.stop(request.reason());
        }
        if freed > 0 {
            self.claim_soon();
        }
    }

    pub(super) fn share_breaker(&mut self) {
        if let Some(breaker) = self.breaker.clone() {
            self.operations.start(Operation::ShareBreaker, |store, _| async move {
                breaker.share(&*store).await.map(|()| EngineEvent::Wake)
            });
        }
    }

    pub(super) fn report_progress(&mut self) {
        let (counts, running) = (self.ledger.stored(), self.tasks.len());
        #[cfg(feature = "metrics")]
        {
            let now = self.store.now();
            self.metrics.progress(counts, (running, self.capacity.limit()), now);
            let used = self.keys.iter().flat_map(|keys| keys.used(now));
            used.for_each(|used| self.metrics.rate_used(used));
        }
        self.collector.emit(&JobEvent::Progress {
            counts,
            input_complete: self.input_complete,
            running,
            open_for: self.rejected_for(),
            waits_for: self.waits_for(),
        });
    }

    /// Returns why this worker starts no item, if it has a reason.
    fn waits_for(&self) -> Option<WaitReason> {
        let runs = !self.tasks.is_empty();
        if self.stopping.is_some() {
            return runs.then_some(WaitReason::Stop);
        }
        if let Some((_, reason)) = self.closed_gate() {
            return Some(reason);
        }
        if self.access.is_exclusive() {
            return runs.then_some(WaitReason::Suspect);
        }
        if self.access.waits_for_exclusive() {
            return Some(WaitReason::Alone);
        }
        if let Some((_, Some((wait, limit)))) = self.until_start() {
            return Some(WaitReason::Rate { limit, wait });
        }
        if runs {
            let throttle = self.capacity.throttle();
            return throttle.filter(|it| self.tasks.len() >= it.limit).map(WaitReason::Throttled);
        }
        if self.operations.is_under_way(Operation::Enter) {
            return Some(WaitReason::OtherJob);
        }
        if self.polling.is_too_early {
            let (trusted, (wait, rate)) = (self.trust_delay(), self.near_start());
            return Some(match rate {
                Some(limit) if wait > trusted => WaitReason::Rate { limit, wait },
                _ => WaitReason::NewWorker { wait: trusted },
            });
        }
        let wait = self.polling.due?.since(self.store.now());
        let counts = self.ledger.stored();
        match (counts.pending, counts.leased) {
            _ if wait.is_zero() => None,
            (0, 0) => None,
            (0, _) => Some(WaitReason::Lease { wait }),
            _ => Some(WaitReason::Due { wait }),
        }
    }
}
