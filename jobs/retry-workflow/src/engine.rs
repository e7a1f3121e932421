//! The engine: claims items, hands them to the work, and settles the outcomes.
//!
//! One loop owns everything. At most one claim, one settlement and one enqueue are under way at a
//! time, so that batches grow with the load; handlers run as tasks of their own. The engine keeps
//! no more items in memory than it can hand out soon. How it keeps an eye on the job meanwhile is
//! in `poll_job`.
//!
//! Store, work and source are behind pointers, so that all of this is compiled once, and not for
//! each closure.
//!
//! ```text
//! source ──enqueue──▶ store ──claim──▶ ready ──▶ tasks ──▶ finished ──settle──▶ store
//! ```

pub(crate) mod items;
pub(crate) mod source;
pub(crate) mod work;
pub(crate) mod retry_state;
pub(crate) mod job_runner;
mod attempt;
mod exclusive;
mod breaker;
mod collect;
mod heartbeat;
mod leases;
mod ledger;
mod operations;
mod limits;
mod starting;
mod poll_job;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};

use self::attempt::{AttemptRunner, Completion};
pub(crate) use self::attempt::{Handler, Handlers};
use self::attempt::{catch_panic, panic_message};
pub use self::attempt::{checkpoint, postponed};
use self::breaker::Breaker;
use self::collect::Collector;
use self::exclusive::{Admission, HandlerAccess};
use self::heartbeat::{Beat, Heartbeat};
use self::leases::Leases;
use self::ledger::{Ledger, Load};
use self::limits::capacity::{Capacity, Shortage};
use self::limits::keys::KeyLimits;
pub(crate) use self::limits::keys::{KeyBound, KeyLimit};
use self::limits::pace::Pace;
use self::limits::schedule::Schedule;
use self::operations::{EngineEvent, Operation, Operations};
use self::poll_job::JobPolling;
use crate::engine::source::DynSource;
use crate::engine::work::{BoxFuture, DynWork};
use crate::item::clock::{Clock, Timestamp, by_clock};
use crate::item::record::{Counts, Filter, ItemState, Lease, NewItem, Selection, Settlement};
use crate::item::summary::Overview;
use crate::job::error::WorkflowError;
use crate::job::error_policy::{ErrorPolicy, Exceeded, OnOpen};
use crate::job::event::{JobEvent, JobListener};
#[cfg(feature = "metrics")]
use crate::job::metrics::JobMetrics;
use crate::job::moment::Moment;
use crate::job::rate::Rate;
use crate::job::record::after::After;
use crate::job::record::{Baseline, Job, JobStatus, StopReason};
use crate::store::{MAX_CLAIM_BYTES, Store, StoreError};

/// The options with which this process runs a job.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) max_parallel: usize,
    /// The duration of this worker's lease of a claimed item, unless it is renewed.
    pub(crate) lease: Duration,
    pub(crate) deadline: Option<Duration>,
    /// The number of attempts start per unit of time, of all workers together.
    pub(crate) rate: Option<Rate>,
    pub(crate) key_limits: Vec<KeyLimit>,
    /// The priority of a new item.
    pub(crate) priority: Option<PriorityOf>,
    /// No item begins before.
    pub(crate) not_before: Option<Moment>,
    /// Items that have not begun by then are skipped.
    pub(crate) skip_after: Option<Moment>,
    /// The job that has to succeed first.
    pub(crate) after: Option<After>,
    pub(crate) policy: ErrorPolicy,
    pub(crate) handlers: Handlers,
    pub(crate) listeners: Vec<JobListener>,
}

/// Takes an item's priority from its payload.
pub(crate) type PriorityOf = Arc<dyn Fn(&Value) -> i8 + Send + Sync>;

/// The futures of the caller; each is polled until it has ended.
pub(crate) struct Signals {
    /// Before it ends, no item begins.
    pub(crate) start: Option<BoxFuture<'static, ()>>,
    /// The future whose end stops the job.
    pub(crate) stop: Option<BoxFuture<'static, StopReason>>,
}

impl Signals {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<EngineEvent> {
        if let Some(stop) = &mut self.stop
            && let Poll::Ready(reason) = stop.as_mut().poll(cx)
        {
            self.stop = None;
            return Poll::Ready(EngineEvent::Stop(reason));
        }
        if let Some(start) = &mut self.start
            && start.as_mut().poll(cx).is_ready()
        {
            self.start = None;
            return Poll::Ready(EngineEvent::Start);
        }
        Poll::Pending
    }
}

/// A suspect waits until nothing else is due, but no longer than this.
const SUSPECT_MAX_WAIT: Duration = Duration::from_secs(60);
/// A worker runs a suspect only once it has lived for so long. What kills workers sooner, one after
/// the other, is not the item.
const MIN_WORKER_AGE: Duration = Duration::from_secs(5);
/// Items are enqueued ahead of a job's workers, but only until this many wait to be leased for the
/// first time: a source may be endless.
const MOST_WAITING: u64 = 10_000;
/// With priorities it is this many: the most urgent item may be the last one.
const MOST_WAITING_BY_PRIORITY: u64 = 1_000_000;
/// The number of finished tasks that are taken before anything else is polled.
const SETTLE_BATCH: usize = 256;

/// Runs a job until it has ended or must stop. Returns how many items of the source had succeeded
/// before.
pub(crate) async fn run(
    store: Arc<dyn Store>,
    job: Job,
    source: &mut dyn DynSource,
    work: Arc<dyn DynWork>,
    options: Options,
    signals: Signals,
) -> Result<u64, WorkflowError> {
    let breaker = match options.policy.circuit_breaker {
        Some(config) => {
            Some(Breaker::open(&*store, &job, config, options.listeners.clone()).await?)
        }
        None => None,
    };
    let since = store.now();
    let most_waiting =
        if options.priority.is_some() { MOST_WAITING_BY_PRIORITY } else { MOST_WAITING };
    let Overview { counts: base, waiting, .. } = store.overview(&job.id, most_waiting).await?;
    limits::recall(&*store, &job, &options).await?;
    begin(&*store, &job, base, &options, signals.start.is_some()).await?;
    let job = Job::find(&*store, &job.id).await?.unwrap_or(job);

    let id: Arc<str> = job.id.as_str().into();
    let worker: Arc<str> = worker(since).into();
    let heartbeat = Heartbeat::new(&id, &worker, since, options.lease);
    let Beat { others, .. } = heartbeat.clone().beat(&*store).await?;
    let clock: Clock = {
        let store = Arc::clone(&store);
        Arc::new(move || store.now())
    };
    let (pace, keys) = limits::split(options.rate, &options.key_limits, &worker, options.lease);
    let schedule = Schedule::new(
        (options.not_before, options.skip_after),
        signals.start.is_some(),
        job.created,
    );
    let attempts = AttemptRunner::new((&id, &worker), clock, work, &options, breaker.as_ref());
    let engine = Engine {
        leases: Leases::new(Arc::clone(&store)),
        ledger: Ledger::new(options.max_parallel, base, job.baseline),
        collector: Collector::new(options.policy.error_collection, options.listeners),
        #[cfg(feature = "metrics")]
        metrics: Box::new(JobMetrics::new(&job.name, &id, base)),
        access: HandlerAccess::new(),
        waiting,
        most_waiting,
        done_by: (base.succeeded > 0).then_some(since),
        already_done: 0,
        priority: options.priority,
        began: Instant::now(),
        claim_at: Some(Instant::now()),
        extend_at: Instant::now() + options.lease / 3,
        start_at: None,
        tasks: JoinSet::new(),
        finished: Vec::new(),
        polling: JobPolling::new(heartbeat, others),
        operations: Operations::new(&store, &id),
        timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
        input_complete: false,
        is_input_final: true,
        stopping: None,
        attempts: Arc::new(attempts),
        pace,
        keys,
        schedule,
        policy: options.policy,
        capacity: Capacity::new(options.max_parallel),
        is_shortage_reported: false,
        lease: options.lease,
        breaker,
        job: id,
        worker,
        store,
    };
    engine.run(source, signals).await
}

/// Marks the job as running. After a stop, thresholds start over, because resuming it was
/// deliberate.
async fn begin(
    store: &dyn Store,
    job: &Job,
    counts: Counts,
    options: &Options,
    waits_to_start: bool,
) -> Result<(), WorkflowError> {
    Job::update(store, &job.id, |job| {
        job.not_before = options.not_before.map(|moment| moment.of(job.created));
        // A program that waits in its own way may have recorded the other job at the creation.
        if options.after.is_some() || !waits_to_start {
            job.begins_after(options.after.as_ref());
        }
        job.limits = limits::recorded(options);
        if !matches!(job.status, JobStatus::Running) {
            job.baseline = Baseline { ended: counts.ended(), failed: counts.failed() };
        }
        job.status = JobStatus::Running;
        job.ended = None;
    })
    .await?;
    Ok(())
}

/// A unique name for this worker: its process, when it began, and a number.
fn worker(now: Timestamp) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};

    static WORKERS: AtomicU32 = AtomicU32::new(0);
    let number = WORKERS.fetch_add(1, Ordering::Relaxed);
    let micros = now.as_micros();
    format!("{}-{micros:x}-{number}", std::process::id())
}

/// A worker of a job: what it does with items.
struct Engine {
    store: Arc<dyn Store>,
    job: Arc<str>,
    worker: Arc<str>,
    policy: ErrorPolicy,
    attempts: Arc<AttemptRunner>,
    breaker: Option<Breaker>,
    pace: Option<Pace>,
    keys: Option<KeyLimits>,
    schedule: Schedule,
    capacity: Capacity,
    is_shortage_reported: bool,
    lease: Duration,

    leases: Leases,
    ledger: Ledger,
    tasks: JoinSet<Completion>,
    /// Items that wait to be leased for the first time, as far as this worker knows.
    waiting: u64,
    /// No more are enqueued while this many wait.
    most_waiting: u64,
    /// The time at which this worker began, if items had succeeded before.
    done_by: Option<Timestamp>,
    /// Items of the source that had.
    already_done: u64,
    priority: Option<PriorityOf>,
    /// The right to run handlers, which is shared with other jobs of this process.
    access: HandlerAccess,
    /// Finished items that are not yet being settled.
    finished: Vec<Completion>,
    collector: Collector,
    #[cfg(feature = "metrics")]
    metrics: Box<JobMetrics>,
    operations: Operations,
    polling: JobPolling,

    began: Instant,
    /// The time of the next claim; `None`: at the next event.
    claim_at: Option<Instant>,
    extend_at: Instant,
    /// The time at which a limit lets the next item start, if one waits for it.
    start_at: Option<Instant>,
    timer: Pin<Box<Sleep>>,
    input_complete: bool,
    /// Set if the end of the input means that the job has all its items.
    is_input_final: bool,
    stopping: Option<StopReason>,
}

impl Engine {
    async fn run(
        mut self,
        source: &mut dyn DynSource,
        mut signals: Signals,
    ) -> Result<u64, WorkflowError> {
        let counts = self.ledger.stored();
        self.collector.emit(&JobEvent::Started { job: &self.job, counts });
        self.check_bounds();
        loop {
            self.start_ready_items();
            if self.is_over() {
                break;
            }
            let event = {
                let feeds = !self.input_complete
                    && self.waiting < self.most_waiting
                    && self.stopping.is_none()
                    && !self.operations.is_under_way(Operation::Enqueue);
                // Dropped and made again after every other event: a source keeps what it has.
                let mut next = feeds.then(|| source.next_batch_boxed());
                poll_fn(|cx| {
                    if let Poll::Ready(signal) = signals.poll(cx) {
                        return Poll::Ready(Ok(signal));
                    }
                    // Input comes first: what is in the store is safe.
                    if let Some(next) = &mut next
                        && let Poll::Ready(given) = next.as_mut().poll(cx)
                    {
                        return Poll::Ready(given.map(EngineEvent::Input));
                    }
                    self.poll(cx)
                })
                .await
            };
            let event = event.inspect_err(|error| {
                // Leases are not released to a store that has just failed: they expire.
                if matches!(error, WorkflowError::Store(_)) {
                    self.leases.forget();
                }
            })?;
            match event {
                EngineEvent::Stop(reason) => self.stop(reason),
                EngineEvent::Start => self.schedule.start(),
                EngineEvent::Input(Some(items)) => {
                    self.ledger.changed();
                    self.enqueue(items);
                }
                EngineEvent::Input(None) => {
                    self.ledger.changed();
                    self.input_complete = true;
                    self.is_input_final = source.is_whole();
                    if self.is_input_final {
                        let whole = |job: &mut Job| job.input_complete = true;
                        Job::update(&*self.store, &self.job, whole).await?;
                    }
                }
                EngineEvent::Claimed { leases, until, wanted, starts } => {
                    self.claimed(leases, until, (wanted, starts));
                }
                EngineEvent::ClaimedSuspect(Some(lease), until) => {
                    self.ledger.changed();
                    self.take_in(lease, true, until);
                }
                EngineEvent::ClaimedSuspect(None, _) => self.end_exclusive(),
                EngineEvent::Renewed { keys, good, until } => {
                    if self.leases.renewed(&keys, &good, until) {
                        self.ledger.changed();
                        self.claim_soon();
                    }
                }
                EngineEvent::Reserved(reserved) => self.reserved(reserved),
                EngineEvent::Keys(answer) => self.answered(answer),
                EngineEvent::Entered(guard) => self.access.entered(guard),
                EngineEvent::Exclusive(guard) => self.access.enter_exclusive(Some(guard)),
                EngineEvent::Settled(finished, good) => {
                    for (finished, good) in finished.into_iter().zip(good) {
                        self.settled(finished, good, source);
                    }
                    if self.ledger.settlement_ended() {
                        self.start_polling(false);
                    }
                    self.check_bounds();
                }
                EngineEvent::Enqueued { added, already_done } => {
                    self.waiting += added;
                    self.already_done += already_done;
                    self.ledger.changed();
                    self.claim_soon();
                }
                EngineEvent::Polled(poll) => self.polled(poll),
                EngineEvent::Changed(seen) => self.changed(seen),
                EngineEvent::Beaten(beat) => self.beaten(beat),
                EngineEvent::Wake => {}
            }
        }
        self.end().await
    }

    /// Polls everything that is under way for the next event.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<EngineEvent, WorkflowError>> {
        // Each finished task frees a slot; settle several at once.
        let mut ended = 0;
        while ended < SETTLE_BATCH
            && let Poll::Ready(Some(done)) = self.tasks.poll_join_next(cx)
        {
            ended += 1;
            // Panics are caught inside; a task is aborted when its lease is lost.
            if let Ok(finished) = done {
                if let (Some(keys), Some(settlement)) = (&mut self.keys, &finished.settlement) {
                    keys.ended(settlement.lease.item, self.store.now());
                }
                self.ledger.done(&finished);
                match &finished.not_begun {
                    None => self.capacity.begun(),
                    Some(why) => self.could_not_begin(why),
                }
                self.finished.push(finished);
            }
        }
        if let Poll::Ready(event) = self.operations.poll_next(cx) {
            return Poll::Ready(event.map_err(WorkflowError::Store));
        }
        if ended == 0 {
            let wake_at = self.wake_at();
            if self.timer.deadline() != wake_at {
                self.timer.as_mut().reset(wake_at);
            }
            std::task::ready!(self.timer.as_mut().poll(cx));
        }
        Poll::Ready(Ok(EngineEvent::Wake))
    }

    /// Runs fewer items at the same time, because one could not begin.
    fn could_not_begin(&mut self, why: &str) {
        let shortage = self.capacity.not_begun(self.tasks.len(), Instant::now());
        if shortage == Shortage::Starved {
            self.stop(StopReason::NothingBegins { why: why.to_owned() });
        } else if !std::mem::replace(&mut self.is_shortage_reported, true) {
            let max_parallel = self.capacity.limit();
            self.collector.emit(&JobEvent::NotBegun { why, max_parallel });
        }
    }

    /// Returns when the clock next requires something to be done.
    fn wake_at(&self) -> Instant {
        let mut at = self.extend_at.min(self.polling.tick_at);
        if let Some(listen_at) = self.listen_at() {
            at = at.min(listen_at);
        }
        if let Some(start_at) = self.start_at {
            at = at.min(start_at);
        }
        if let Some(until) = self.capacity.paused_until() {
            at = at.min(until);
        }
        if let Some(wait) = self.schedule.closed_for(|| self.store.now())
            && !wait.is_zero()
        {
            at = at.min(Instant::now() + wait);
        }
        if let Some(claim_at) = self.claim_at.filter(|_| self.may_claim()) {
            at = at.min(claim_at);
        }
        if let Some(open_for) = self.breaker.as_ref().map(Breaker::rejects_for)
            && !open_for.is_zero()
        {
            at = at.min(Instant::now() + open_for);
        }
        at
    }

    /// Starts everything that can start now.
    fn start_ready_items(&mut self) {
        let now = Instant::now();
        self.capacity.update(now);
        if self.listen_at().is_some_and(|at| at <= now) {
            self.start_listening();
        }
        self.start_tasks(now);
        self.ask_limits();
        self.start_settling();
        // Before claiming: handlers may have kept this loop from running, and leases that have
        // expired in the meantime should be renewed rather than claimed again by this worker.
        if self.extend_at <= now {
            self.extend_at = now + self.lease / 3;
            self.start_extending();
        }
        if self.claim_at.is_some_and(|at| at <= now) && self.may_claim() {
            self.start_claiming();
        }
        self.update_access();
        if self.breaker.as_ref().is_some_and(Breaker::has_moved) {
            self.share_breaker();
        }
        if self.polling.tick_at <= now {
            self.tick();
        }
        // A result read before the last change may be out of date.
        let is_old =
            self.claim_at.is_none() || self.polling.polled_change != Some(self.ledger.changes());
        if self.is_idle() && is_old && self.stopping.is_none() && !self.access.waits_for_exclusive()
        {
            self.start_polling(false);
        }
    }

    /// Returns whether this worker has no work in hand, and no change under way.
    fn is_idle(&self) -> bool {
        self.tasks.is_empty()
            && self.finished.is_empty()
            && self.leases.are_handed_out()
            && self.operations.are_quiet()
    }

    fn start_tasks(&mut self, now: Instant) {
        // A worker that was stopped for a while has to ask first what it still holds. The lease of
        // the next item is the one that ends first.
        let is_past = self.leases.is_next_past();
        if is_past {
            self.extend_at = now;
        }
        // Once unsettled results are going to stop the job, nothing is started beyond the limit.
        let may_start = !self.leases.are_handed_out()
            && !is_past
            && !self.ledger.will_stop(&self.policy)
            && self.stopping.is_none()
            && self.capacity.paused_until().is_none()
            && self.access.admits(self.tasks.len());
        let most = if self.access.is_exclusive() { 1 } else { self.capacity.limit() };
        while may_start
            && self.tasks.len() < most
            && self.breaker.as_ref().is_none_or(|breaker| breaker.admits(self.tasks.len()))
            && let Some(place) = self.next_to_start()
        {
            let Some(lease) = self.leases.start(place) else { break };
            let item = lease.key.item;
            let handler = Arc::clone(&self.attempts).run(lease);
            let handler = self.tasks.spawn(by_clock(self.attempts.clock(), handler));
            self.leases.handed_to(item, handler);
        }
        while self.stopping.is_some()
            && let Some(lease) = self.leases.next_ready()
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

    /// Requests the right to run the items in hand, or to run a suspect alone, and gives it up when
    /// it is no longer needed.
    fn update_access(&mut self) {
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
            self.operations.start(Operation::Enter, |_, _| async move {
                Ok(match admission {
                    Admission::Shared => EngineEvent::Entered(exclusive::shared().await),
                    Admission::Exclusive => EngineEvent::Exclusive(exclusive::exclusive().await),
                })
            });
        }
        if self.access.is_exclusive() && is_idle {
            let may_start = self.may_start_soon() && self.until_near_start().is_zero();
            if self.access.turn_has_ended() || !may_start {
                self.end_exclusive();
            } else {
                self.start_claiming_suspect();
            }
        }
    }

    /// Returns whether only other jobs keep a handler from starting.
    fn may_start_soon(&self) -> bool {
        !self.ledger.will_stop(&self.policy)
            && self.schedule.is_open(|| self.store.now())
            && self.breaker.as_ref().is_none_or(|breaker| breaker.admits(self.tasks.len()))
    }

    fn end_exclusive(&mut self) {
        self.access.leave();
        self.ledger.changed();
        self.claim_soon();
    }

    /// Returns how long until this worker has lived long enough to run suspects.
    fn trust_delay(&self) -> Duration {
        MIN_WORKER_AGE.saturating_sub(self.began.elapsed())
    }

    /// Returns whether it is the turn of the suspect that is due then: when nothing else is due, or
    /// after a while.
    fn is_time_for(&self, suspect: Option<Timestamp>, is_current: bool) -> bool {
        let Some(due) = suspect.filter(|_| self.stopping.is_none() && self.may_start_soon()) else {
            return false;
        };
        let now = self.store.now();
        due + SUSPECT_MAX_WAIT <= now || (is_current && self.is_idle() && due <= now)
    }

    fn start_claiming_suspect(&mut self) {
        let (worker, lease) = (Arc::clone(&self.worker), self.lease);
        self.operations.start(Operation::Claim, |store, job| async move {
            let (now, suspect) = (store.now(), Selection::Suspect);
            let mut leases = store.claim(&job, &worker, now, suspect, lease).await?;
            Ok(EngineEvent::ClaimedSuspect(leases.pop(), now + lease))
        });
    }

    fn start_settling(&mut self) {
        if self.finished.is_empty() || self.operations.is_under_way(Operation::Settle) {
            return;
        }
        let mut finished = std::mem::take(&mut self.finished);
        let leases = &mut self.leases;
        let has_listeners = self.collector.has_listeners();
        #[cfg(feature = "metrics")]
        let metrics = &mut self.metrics;
        let settle = |finished: &mut Completion| {
            let mut settlement = finished.settlement.take()?;
            if has_listeners {
                finished.history.clone_from(&settlement.history);
            }
            // No longer held: once settled, the item may be claimed again before the answer
            // arrives.
            #[cfg(feature = "metrics")]
            if finished.state.is_some() || !settlement.history.is_empty() {
                metrics.attempt_ended(finished.state.unwrap_or(ItemState::Pending));
                metrics.took(&settlement);
            }
            leases.settle_with(&mut settlement);
            Some(settlement)
        };
        let settlements: Vec<Settlement> = finished.iter_mut().filter_map(settle).collect();
        let started = self.leases.starts();
        self.operations.start(Operation::Settle, |store, _| async move {
            let good = store.settle(settlements, started, store.now()).await?;
            Ok(EngineEvent::Settled(finished, good))
        });
    }

    fn may_claim(&self) -> bool {
        self.stopping.is_none()
            && !self.operations.is_under_way(Operation::Claim)
            && !self.operations.is_under_way(Operation::Extend)
            && self.to_claim() > 0
            && !self.leases.are_large()
            && self.breaker.as_ref().is_none_or(Breaker::is_closed_enough)
            && self.access.is_open()
            && self.capacity.paused_until().is_none()
            && self.schedule.is_open(|| self.store.now())
    }

    fn to_claim(&self) -> usize {
        let limit = self.breaker.as_ref().map_or(usize::MAX, Breaker::most_held);
        let limit =
            if self.capacity.is_limited() { limit.min(self.capacity.limit()) } else { limit };
        let limit = self
            .pace
            .as_ref()
            .map_or(limit, |pace| limit.min(self.tasks.len().saturating_add(pace.most_ready())));
        // An item that waits in hand for a place of its key must not keep other items waiting.
        let queued = self.keys.as_ref().map_or(0, KeyLimits::queued);
        let Load { held, ready, running } = self.leases.load(self.tasks.len());
        let load = Load {
            held: held.saturating_sub(queued),
            ready: ready.saturating_sub(queued),
            running,
        };
        self.ledger.to_claim(load, limit)
    }

    fn start_claiming(&mut self) {
        let wanted = self.to_claim();
        let free = self.capacity.limit().saturating_sub(self.tasks.len());
        // An item that waits for its start has not been started.
        let starts = if self.has_limits() { 0 } else { self.leases.free_beyond_ready(free) };
        self.claim_at = None;
        let (worker, lease) = (Arc::clone(&self.worker), self.lease);
        let selection = Selection::Items { max: wanted, starts };
        self.operations.start(Operation::Claim, |store, job| async move {
            let now = store.now();
            let leases = store.claim(&job, &worker, now, selection, lease).await?;
            Ok(EngineEvent::Claimed { leases, until: now + lease, wanted, starts })
        });
    }

    fn claimed(&mut self, leases: Vec<Lease>, until: Timestamp, (wanted, starts): (usize, usize)) {
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
            if (lease.run, lease.attempt) == (0, 1) && lease.checkpoint.is_none() {
                self.waiting = self.waiting.saturating_sub(1);
            }
            // One that this worker is at already has begun.
            if let Some(failure) = self.schedule.too_late(&lease, || self.store.now())
                && !self.leases.holds(lease.key.item)
            {
                let skipped = Completion::skipped(lease.key, lease.id, failure);
                self.ledger.done(&skipped);
                self.finished.push(skipped);
                continue;
            }
            self.take_in(lease, place < starts, until);
        }
        self.claim_keyed_soon();
    }

    fn claim_soon(&mut self) {
        self.claim_at = Some(Instant::now());
    }

    fn start_extending(&mut self) {
        if self.operations.is_under_way(Operation::Extend) || self.leases.is_empty() {
            return;
        }
        let (keys, started, lease) = (self.leases.keys(), self.leases.starts(), self.lease);
        self.operations.start(Operation::Extend, |store, _| async move {
            let until = store.now() + lease;
            let good = store.extend(keys.clone(), started, until).await?;
            Ok(EngineEvent::Renewed { keys, good, until })
        });
    }

    fn enqueue(&mut self, mut items: Vec<NewItem>) {
        if items.is_empty() {
            self.claim_soon();
            return;
        }
        if let Some(priority) = &self.priority {
            for item in &mut items {
                item.priority = serde_json::from_str(&item.payload).map_or(0, |it| priority(&it));
            }
        }
        let given = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let done_by = self.done_by;
        let ids = done_by.map(|_| items.iter().map(|item| item.id.clone()).collect());
        self.operations.start(Operation::Enqueue, |store, job| async move {
            let added = store.enqueue(&job, items, store.now()).await?;
            let already_done = match (done_by, ids) {
                (Some(by), Some(ids)) if added < given => {
                    count_done(&*store, &job, ids, by).await?
                }
                _ => 0,
            };
            Ok(EngineEvent::Enqueued { added, already_done })
        });
    }

    /// Handles the store's answer for one item.
    fn settled(&mut self, finished: Completion, good: bool, source: &mut dyn DynSource) {
        self.ledger.settled(&finished, good);
        if self.claim_at.is_none() && finished.puts_back() {
            self.claim_soon();
        }
        // Another worker has the item now, and will report what becomes of it.
        if !good {
            return;
        }
        let last = finished.history.len().saturating_sub(1);
        for (at, attempt) in finished.history.iter().enumerate() {
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

    /// Stops the job if its policy says so.
    fn check_bounds(&mut self) {
        match self.ledger.exceeded(&self.policy) {
            Some(Exceeded::FirstFailure) => self.stop(StopReason::FirstFailure),
            Some(Exceeded::MaxFailures { most }) => {
                self.stop(StopReason::MaxFailures { max_failures: most });
            }
            Some(Exceeded::Threshold { most, failed, ended }) => {
                self.stop(StopReason::FailureThreshold { failure_threshold: most, failed, ended });
            }
            None => {}
        }
        if self.policy.on_open == OnOpen::Stop
            && self.breaker.as_ref().is_some_and(|breaker| !breaker.open_for().is_zero())
        {
            self.stop(StopReason::BreakerOpen);
        }
    }

    /// Starts nothing more, and lets running items finish.
    fn stop(&mut self, reason: StopReason) {
        if self.stopping.is_none() {
            self.collector.emit(&JobEvent::Stopping { reason: &reason });
            self.stopping = Some(reason);
        }
    }

    fn is_over(&self) -> bool {
        let all = self.input_complete && self.ledger.is_complete();
        self.is_idle() && (self.stopping.is_some() || all)
    }

    async fn end(mut self) -> Result<u64, WorkflowError> {
        let counts = self.store.counts(&self.job).await?;
        self.ledger.counted(self.ledger.changes(), counts, false);
        self.collector.finish();
        self.report_progress();
        if let Some(breaker) = &self.breaker {
            breaker.clone().share(&*self.store).await?;
        }
        self.leave_limits().await?;
        let finished = self.input_complete && self.ledger.is_complete();
        let status = match self.stopping.take() {
            // The last item may be one failure too many; the job has finished all the same.
            Some(reason) if !finished || matches!(reason, StopReason::Item { .. }) => {
                JobStatus::Stopped { reason }
            }
            _ if self.is_input_final => JobStatus::Finished,
            _ => JobStatus::Stopped { reason: StopReason::InputIncomplete },
        };
        Job::update(&*self.store, &self.job, |job| {
            self.polling.heartbeat().leave(job);
            // Of several workers that leave, the first one ends the job. One that was asked to stop
            // only stops it, and another one may finish it.
            if job.ended.is_none() || job.status.as_str() != status.as_str() {
                job.ends = job.ends.saturating_add(1);
            }
            job.status = status.clone();
            job.ended = Some(self.store.now());
        })
        .await?;
        Ok(self.already_done)
    }
}

/// Counts which of these items had succeeded by this time.
async fn count_done(
    store: &dyn Store,
    job: &str,
    ids: Vec<String>,
    by: Timestamp,
) -> Result<u64, StoreError> {
    let (most, after) = (ids.len(), by + Duration::from_micros(1));
    let done = Filter::job(job).ids(ids).states([ItemState::Succeeded]).until(after);
    let (mut number, mut after) = (0_u64, None);
    loop {
        let page = store.list(&done, after, most).await?;
        number = number.saturating_add(u64::try_from(page.items.len()).unwrap_or(u64::MAX));
        after = page.next;
        if after.is_none() {
            return Ok(number);
        }
    }
}
