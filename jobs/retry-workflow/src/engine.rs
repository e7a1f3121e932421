//! The engine: claims items, hands them to the work, and settles the outcomes.
//!
//! One loop owns everything. At most one claim, one settlement and one enqueue are under way at a
//! time, so that batches grow with the load; handlers run as tasks of their own. The engine keeps
//! no more items in memory than it can hand out soon. Parts: `claim`,
//! `start` and `settle`; `poll_job` monitors the job.
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
mod collect;
mod heartbeat;
mod leases;
mod ledger;
mod operations;
mod limits;
mod claim;
mod start;
mod settle;
mod poll_job;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use retry_runtime::Class;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};

use self::attempt::{AttemptRunner, Completion};
pub(crate) use self::attempt::{Handler, Handlers};
use self::attempt::{catch_panic, panic_message};
pub use self::attempt::{checkpoint, failed_step, postponed};
use self::collect::Collector;
use self::heartbeat::{Beat, Heartbeat};
use self::leases::Leases;
use self::ledger::Ledger;
use self::limits::breaker::JobBreaker;
use self::limits::capacity::Capacity;
use self::limits::exclusive::HandlerAccess;
use self::limits::keys::JobLimits;
pub(crate) use self::limits::keys::{JobLimit, LimitBound};
use self::limits::schedule::JobSchedule;
use self::operations::{EngineEvent, Operation, Operations};
use self::poll_job::JobPolling;
use crate::engine::source::DynSource;
use crate::engine::source::input::{self, InputCounts, JobInput};
use crate::engine::work::{BoxFuture, DynWork};
use crate::item::clock::{Clock, Timestamp};
use crate::item::lease::Settled;
use crate::item::record::Counts;
use crate::item::summary::Overview;
use crate::job::error::WorkflowError;
use crate::job::error_policy::ErrorPolicy;
use crate::job::event::{JobEvent, JobListener};
#[cfg(feature = "metrics")]
use crate::job::metrics::JobMetrics;
use crate::job::moment::Moment;
use crate::job::rate::Rates;
use crate::job::record::{Baseline, Job, JobStatus, StopReason};
use crate::store::{Store, StoreError};

/// The options with which this process runs a job.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) max_parallel: usize,
    /// The classes of failures for which fewer items run at the same time.
    pub(crate) slow_down_on: Class,
    /// The duration of this worker's lease of a claimed item, unless it is renewed.
    pub(crate) lease: Duration,
    pub(crate) deadline: Option<Duration>,
    /// The time for which running items may end once the job stops; `None` if it is not set.
    pub(crate) stop_within: Option<Duration>,
    /// The number of workers that an item may kill while it runs alone.
    pub(crate) max_lost: u32,
    /// The attempts that start per unit of time, of all workers together.
    pub(crate) rates: Rates,
    pub(crate) key_limits: Vec<JobLimit>,
    /// The priority of a new item.
    pub(crate) priority: Option<PriorityOf>,
    /// No item begins before.
    pub(crate) not_before: Option<Moment>,
    /// Items that have not begun by then are skipped.
    pub(crate) skip_after: Option<Moment>,
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

/// Items are enqueued ahead of a job's workers, but only until this many wait to be leased for the
/// first time: a source may be endless.
const MOST_WAITING: u64 = 10_000;
/// With priorities it is this many: the most urgent item may be the last one.
const MOST_WAITING_BY_PRIORITY: u64 = 1_000_000;
/// The time for which running items may end after the deadline of a job, unless it is set.
const DEADLINE_GRACE: Duration = Duration::from_secs(30);
/// The number of finished tasks that are taken before anything else is polled.
const SETTLE_BATCH: usize = 256;

/// The end of a worker's run of a job.
pub(crate) struct Ran {
    /// The items that the source has given.
    pub(crate) counts: InputCounts,
    /// The error of the input, if that has stopped the job.
    pub(crate) input: Result<(), WorkflowError>,
}

/// Runs a job until it has ended or must stop.
pub(crate) async fn run(
    store: Arc<dyn Store>,
    job: Job,
    source: &mut dyn DynSource,
    work: Arc<dyn DynWork>,
    options: Options,
    signals: Signals,
) -> Result<Ran, WorkflowError> {
    let is_id_rule_known = input::check_id_rule(&*store, &job, source.id_rule()).await?;
    let breaker = match options.policy.circuit_breaker {
        Some(config) => {
            Some(JobBreaker::open(&*store, &job, config, options.listeners.clone()).await?)
        }
        None => None,
    };
    let since = store.now();
    let most_waiting =
        if options.priority.is_some() { MOST_WAITING_BY_PRIORITY } else { MOST_WAITING };
    let Overview { counts: base, waiting, .. } = store.overview(&job.id, most_waiting).await?;
    limits::end_waits(&*store, &job, &options).await?;
    begin(&*store, &job, base, &options).await?;
    let job = Job::find(&*store, &job.id).await?.unwrap_or(job);

    let id: Arc<str> = job.id.as_str().into();
    let worker: Arc<str> = worker(since).into();
    let heartbeat = Heartbeat::new(&id, &worker, since, options.lease);
    let Beat { others, .. } = heartbeat.clone().beat(&*store, None).await?;
    let clock: Clock = {
        let store = Arc::clone(&store);
        Arc::new(move || store.now())
    };
    let limits = limits::of(&options);
    let schedule = JobSchedule::new(
        (options.not_before, options.skip_after),
        signals.start.is_some(),
        job.created,
    );
    let keys = (!limits.is_empty()).then(|| JobLimits::new(&limits, &worker, options.lease));
    let work = (work, limits);
    let attempts = AttemptRunner::new((&id, &worker), clock, work, &options, breaker.as_ref());
    let engine = Engine {
        leases: Leases::new(Arc::clone(&store)),
        ledger: Ledger::new(options.max_parallel, base, job.baseline),
        collector: Collector::new(options.policy.error_collection, options.listeners),
        #[cfg(feature = "metrics")]
        metrics: Box::new(JobMetrics::new(&job.name, &id, (base, options.max_parallel))),
        access: HandlerAccess::new(),
        waiting,
        most_waiting,
        input: JobInput {
            since,
            has_begun: base.total() > 0,
            is_id_rule_known,
            counts: InputCounts::default(),
            result: Ok(()),
        },
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
        stop_within: options.stop_within,
        release_at: None,
        attempts: Arc::new(attempts),
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
) -> Result<(), WorkflowError> {
    Job::update(store, &job.id, |job| {
        job.not_before = options.not_before.map(|moment| moment.of(job.created));
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
    breaker: Option<JobBreaker>,
    keys: Option<JobLimits>,
    schedule: JobSchedule,
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
    input: JobInput,
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
    stop_within: Option<Duration>,
    /// The time at which running items are released, because the job stops.
    release_at: Option<Instant>,
}

impl Engine {
    async fn run(
        mut self,
        source: &mut dyn DynSource,
        mut signals: Signals,
    ) -> Result<Ran, WorkflowError> {
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
                        return Poll::Ready(EngineEvent::of_input(given));
                    }
                    self.poll(cx)
                })
                .await
            };
            // Leases are not released to a store that has just failed: they expire.
            let event = event.inspect_err(|_| self.leases.forget())?;
            match event {
                EngineEvent::Stop(reason) => self.stop(reason),
                EngineEvent::Start => self.schedule.start(),
                EngineEvent::Input(Some(items)) => {
                    self.ledger.changed();
                    match self.check_id_rule(source.id_rule()).await {
                        Ok(()) => self.enqueue(items),
                        Err(WorkflowError::Store(error)) => return Err(error.into()),
                        Err(refused) => self.input_failed(refused),
                    }
                }
                EngineEvent::Input(None) => {
                    self.ledger.changed();
                    self.input_complete = true;
                    self.is_input_final = source.is_whole();
                    if self.is_input_final {
                        let whole = |job: &mut Job| job.input_complete = true;
                        Job::update(&*self.store, &self.job, whole).await?;
                    }
                    self.input_ended(source.id_rule().is_some()).await?;
                }
                EngineEvent::InputFailed(error) => self.input_failed(error),
                EngineEvent::Claimed { leases, until, wanted, starts } => {
                    self.claimed(leases, until, (wanted, starts));
                }
                EngineEvent::ClaimedSuspect(Some(lease), until) => {
                    self.ledger.changed();
                    if !self.leases.renew(lease.key, true, until) {
                        self.take_in(lease, true, until);
                    }
                }
                EngineEvent::ClaimedSuspect(None, _) => self.end_exclusive(),
                EngineEvent::Renewed { keys, good, until } => {
                    if self.leases.renewed(&keys, &good, until) {
                        self.ledger.changed();
                        self.claim_soon();
                    }
                }
                EngineEvent::Reserved(reserved) => self.reserved(reserved),
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
                EngineEvent::Enqueued(counts) => {
                    self.enqueued(counts, source.id_rule().is_some());
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
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<EngineEvent, StoreError>> {
        // Each finished task frees a slot; settle several at once.
        let mut ended = 0;
        while ended < SETTLE_BATCH
            && let Poll::Ready(Some(done)) = self.tasks.poll_join_next_with_id(cx)
        {
            ended += 1;
            // Panics are caught inside; a task is aborted when its lease is lost, or when the time
            // to end is over: its item is then still held.
            let released = |task| self.leases.of_handler(task).map(Completion::released);
            let ended = done.map(|(_, finished)| Some(finished));
            if let Some(finished) = ended.unwrap_or_else(|aborted| released(aborted.id())) {
                if let (Some(keys), Some(settlement)) = (&mut self.keys, &finished.settlement) {
                    keys.ended(settlement.lease.item, self.store.now());
                }
                self.ledger.done(&finished);
                let settlement = finished.settlement.as_ref();
                let is_released = settlement.is_some_and(|it| it.end == Settled::Released);
                match &finished.not_begun {
                    Some(why) => self.could_not_begin(why),
                    // The service has neither accepted nor rejected it.
                    None if is_released => {}
                    None => self.capacity.ended(finished.is_rejected, self.tasks.len()),
                }
                self.finished.push(finished);
            }
        }
        if let Poll::Ready(event) = self.operations.poll_next(cx) {
            return Poll::Ready(event);
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

    /// Returns when the clock next requires something to be done.
    fn wake_at(&self) -> Instant {
        let mut at = self.extend_at.min(self.polling.tick_at);
        if let Some(listen_at) = self.listen_at() {
            at = at.min(listen_at);
        }
        for earlier in self.start_at.into_iter().chain(self.release_at) {
            at = at.min(earlier);
        }
        if let Some((wait, _)) = self.closed_gate().filter(|(wait, _)| !wait.is_zero()) {
            at = at.min(Instant::now() + wait);
        }
        if let Some(claim_at) = self.claim_at.filter(|_| self.may_claim()) {
            at = at.min(claim_at);
        }
        at
    }

    /// Starts everything that can start now.
    fn start_ready_items(&mut self) {
        let now = Instant::now();
        self.capacity.update(now);
        if self.release_at.take_if(|at| *at <= now).is_some() {
            self.tasks.abort_all();
        }
        if self.listen_at().is_some_and(|at| at <= now) {
            self.start_listening();
        }
        self.start_tasks(now);
        self.start_reserving();
        self.start_at = self.until_start().map(|(wait, _)| Instant::now() + wait);
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
        if self.breaker.as_ref().is_some_and(JobBreaker::has_moved) {
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

    fn is_over(&self) -> bool {
        let all = self.input_complete && self.ledger.is_complete();
        self.is_idle() && (self.stopping.is_some() || all)
    }

    async fn end(mut self) -> Result<Ran, WorkflowError> {
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
        Ok(Ran { counts: self.input.counts, input: self.input.result })
    }
}
