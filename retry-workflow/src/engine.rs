//! The engine: claims items, lets work be done on them, settles what came of it.
//!
//! One loop owns everything. At most one claim, one settlement and one enqueueing
//! are under way at a time, so that the batches grow with the load; handlers run as
//! tasks of their own. It keeps no more items in memory than it can hand out soon.
//!
//! ```text
//! source ──enqueue──▶ store ──claim──▶ ready ──▶ tasks ──▶ finished ──settle──▶ store
//! ```

pub(crate) mod intern;
pub(crate) mod items;
pub(crate) mod source;
pub(crate) mod retry_state;
pub(crate) mod work;
pub mod launch;
mod attempt;
mod breaker;
mod collect;
mod leases;
mod ops;
mod rate;
mod unsettled;

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep};

pub use self::attempt::Handler;
pub use self::attempt::Handlers;
use self::attempt::{Completion, Process};
pub use self::breaker::Breaker;
use self::collect::Collector;
use self::leases::Leases;
use self::ops::{Op, Ops, boxed};
use self::rate::Rate;
use self::unsettled::Unsettled;
use crate::engine::source::Source;
use crate::engine::work::Work;
use crate::item::clock::Timestamp;
use crate::item::record::{Counts, ItemState, Lease, Settlement};
use crate::job::error::WorkflowError;
use crate::job::error_policy::{ErrorPolicy, Exceeded, OnOpen};
use crate::job::event::{JobEvent, Listener};
use crate::job::record::{Baseline, Job, JobStatus, StopReason};
use crate::store::{MOST_CLAIMED_BYTES, Store, StoreError};

/// How a job is run by this process.
#[derive(Clone)]
pub struct Options {
    pub max_parallel: usize,
    /// How long an item is this worker's before it has to say so again.
    pub lease: Duration,
    pub policy: ErrorPolicy,
    pub handlers: Handlers,
    pub listeners: Vec<Listener>,
}

/// How often the store is asked for what other processes have done.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// Tasks that are looked at before something else is.
const SETTLED_AT_ONCE: usize = 256;

/// Runs a job until it has ended or is to stop.
pub(crate) async fn run<S: Store, W: Work>(
    store: S,
    job: Job,
    source: impl Source,
    work: Arc<W>,
    options: Options,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), WorkflowError> {
    let breaker = match options.policy.circuit_breaker {
        Some(config) => Some(Breaker::open(&store, &job, config, options.listeners.clone()).await?),
        None => None,
    };
    let base = store.counts(&job.id).await?;
    begin(&store, &job, base).await?;
    let job = Job::find(&store, &job.id).await?.unwrap_or(job);

    let id: Arc<str> = job.id.as_str().into();
    let worker: Arc<str> = worker().into();
    let process = Process::new(&id, &worker, work, &options, breaker.as_ref());
    let engine = Engine {
        held: Leases::new(store.clone()),
        collector: Collector::new(options.policy.error_collection, options.listeners),
        baseline: job.baseline,
        counts: base,
        ended: 0,
        failed: 0,
        unsettled: Unsettled::default(),
        changes: 0,
        counted: None,
        looked: None,
        may_be_counted: false,
        claim_at: Some(Instant::now()),
        extend_at: Instant::now() + options.lease / 3,
        poll_at: Instant::now() + POLL_EVERY,
        rate: Rate::new(),
        ready: VecDeque::new(),
        ready_bytes: 0,
        tasks: JoinSet::new(),
        finished: Vec::new(),
        ops: Ops::default(),
        timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
        input_complete: false,
        is_whole: true,
        stopping: None,
        process: Arc::new(process),
        policy: options.policy,
        max_parallel: options.max_parallel,
        lease: options.lease,
        breaker,
        job: id,
        worker,
        store,
    };
    engine.run(source, stop).await
}

/// Marks the job as running. After a stop, thresholds begin anew: somebody has looked at it.
async fn begin<S: Store>(store: &S, job: &Job, counts: Counts) -> Result<(), WorkflowError> {
    Job::update(store, &job.id, |job| {
        if !matches!(job.status, JobStatus::Running) {
            job.baseline = Baseline { ended: counts.ended(), failed: counts.failed() };
        }
        job.status = JobStatus::Running;
        job.ended = None;
    })
    .await?;
    Ok(())
}

/// A name for this worker that no other one has: the process, and when it began.
fn worker() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};

    static WORKERS: AtomicU32 = AtomicU32::new(0);
    let number = WORKERS.fetch_add(1, Ordering::Relaxed);
    let micros = Timestamp::now().as_micros();
    format!("{}-{micros:x}-{number}", std::process::id())
}

struct Engine<S: Store, W: Work> {
    store: S,
    job: Arc<str>,
    worker: Arc<str>,
    policy: ErrorPolicy,
    process: Arc<Process<W>>,
    breaker: Option<Breaker>,
    max_parallel: usize,
    lease: Duration,

    /// Leases that this worker has.
    held: Leases<S>,
    /// Leased items that nobody works on yet, and how many bytes their payloads are.
    ready: VecDeque<Lease>,
    ready_bytes: usize,
    tasks: JoinSet<Completion>,
    /// What is to be settled.
    finished: Vec<Completion>,
    collector: Collector,
    ops: Ops,

    /// Counts of the store, as of the last look.
    counts: Counts,
    baseline: Baseline,
    /// What this worker has settled since that look.
    ended: u64,
    failed: u64,
    /// What ends with the items that are done and not settled yet.
    unsettled: Unsettled,
    /// How often this worker has changed something, now and when the counts were asked for.
    changes: u64,
    counted: Option<u64>,
    /// The same for what is due next.
    looked: Option<u64>,
    /// Whether what is being settled is in the counts already: nobody knows, and nothing is to
    /// be counted twice.
    may_be_counted: bool,
    rate: Rate,

    /// When to claim next; `None`: when something happens.
    claim_at: Option<Instant>,
    extend_at: Instant,
    poll_at: Instant,
    timer: Pin<Box<Sleep>>,
    input_complete: bool,
    /// Whether the end of the input is the end of what the job is to have.
    is_whole: bool,
    stopping: Option<StopReason>,
}

/// What the loop waits for.
enum EngineEvent {
    Stop,
    Given(Option<Vec<crate::item::record::NewItem>>),
    Claimed(Vec<Lease>, usize),
    Settled(Vec<Completion>, Vec<bool>),
    Enqueued,
    NextDue(u64, Option<Timestamp>),
    Counted(u64, Counts),
    Time,
}

impl<S: Store, W: Work> Engine<S, W> {
    async fn run(
        mut self,
        mut source: impl Source,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<(), WorkflowError> {
        let mut stop = std::pin::pin!(stop);
        let mut stopped = false;
        self.collector.tell(&JobEvent::Started { job: &self.job, counts: self.counts });
        self.check_bounds();
        loop {
            self.start_what_can_be();
            if self.is_over() {
                break;
            }
            let happened = {
                let feeds =
                    !self.input_complete && self.stopping.is_none() && self.ops.enqueue.is_none();
                // Dropped and made again after whatever else happens: a source keeps what it has.
                let mut next = std::pin::pin!(source.next());
                poll_fn(|cx| {
                    if !stopped && stop.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(Ok(EngineEvent::Stop));
                    }
                    // First: what is in the store is safe.
                    if feeds && let Poll::Ready(given) = next.as_mut().poll(cx) {
                        return Poll::Ready(given.map(EngineEvent::Given));
                    }
                    self.poll(cx)
                })
                .await
            };
            let happened = match happened {
                Ok(happened) => happened,
                Err(error) => {
                    // A store that has just failed is not asked to take leases back: they end.
                    if matches!(error, WorkflowError::Store(_)) {
                        self.held.forget();
                    }
                    return Err(error);
                }
            };
            match happened {
                EngineEvent::Stop => {
                    stopped = true;
                    self.stop(StopReason::Requested);
                }
                EngineEvent::Given(Some(items)) => {
                    self.changes += 1;
                    self.enqueue(items);
                }
                EngineEvent::Given(None) => {
                    self.changes += 1;
                    self.input_complete = true;
                    self.is_whole = source.is_whole();
                    if self.is_whole {
                        let whole = |job: &mut Job| job.input_complete = true;
                        Job::update(&self.store, &self.job, whole).await?;
                    }
                }
                EngineEvent::Claimed(leases, wanted) => self.claimed(leases, wanted),
                EngineEvent::Settled(finished, good) => {
                    self.changes += 1;
                    let before = (self.ended, self.failed);
                    for (finished, good) in finished.into_iter().zip(good) {
                        self.settled(finished, good, &mut source);
                    }
                    if std::mem::take(&mut self.may_be_counted) {
                        (self.ended, self.failed) = before;
                        self.start_counting();
                    }
                    self.check_bounds();
                }
                EngineEvent::Enqueued => {
                    self.changes += 1;
                    self.claim_soon();
                }
                // What has changed since it was asked for may be due before: it is asked for anew.
                EngineEvent::NextDue(changes, due) if changes == self.changes => {
                    self.sleep_until(due)
                }
                EngineEvent::Counted(changes, counts) => self.counted(changes, counts),
                EngineEvent::NextDue(..) | EngineEvent::Time => {}
            }
        }
        self.end().await
    }

    /// What is ready of all that is under way.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<EngineEvent, WorkflowError>> {
        fn op<T>(op: &mut Op<T>, cx: &mut Context<'_>) -> Poll<Result<T, StoreError>> {
            let Some(future) = op else { return Poll::Pending };
            let result = std::task::ready!(future.as_mut().poll(cx));
            *op = None;
            Poll::Ready(result)
        }

        let happened = 'happened: {
            // Whoever is done frees a place: a few at once make one settlement.
            let before = self.finished.len();
            while self.finished.len() < before + SETTLED_AT_ONCE
                && let Poll::Ready(Some(done)) = self.tasks.poll_join_next(cx)
            {
                // Panics are caught inside; a task that was cancelled leaves its lease to end.
                if let Ok(finished) = done {
                    self.unsettled.add(&Unsettled::of(&finished));
                    self.finished.push(finished);
                }
            }
            let is_any_done = self.finished.len() > before;
            if let Poll::Ready(settled) = op(&mut self.ops.settle, cx) {
                break 'happened settled
                    .map(|(finished, good)| EngineEvent::Settled(finished, good));
            }
            if let Poll::Ready(claimed) = op(&mut self.ops.claim, cx) {
                break 'happened claimed
                    .map(|(leases, wanted)| EngineEvent::Claimed(leases, wanted));
            }
            if let Poll::Ready(enqueued) = op(&mut self.ops.enqueue, cx) {
                break 'happened enqueued.map(|_| EngineEvent::Enqueued);
            }
            if let Poll::Ready(due) = op(&mut self.ops.next_due, cx) {
                break 'happened due.map(|(changes, due)| EngineEvent::NextDue(changes, due));
            }
            if let Poll::Ready(counts) = op(&mut self.ops.counts, cx) {
                break 'happened counts
                    .map(|(changes, counts)| EngineEvent::Counted(changes, counts));
            }
            if let Poll::Ready(extended) = op(&mut self.ops.extend, cx) {
                break 'happened extended.map(|()| EngineEvent::Time);
            }
            if let Poll::Ready(saved) = op(&mut self.ops.breaker, cx) {
                break 'happened saved.map(|()| EngineEvent::Time);
            }
            if is_any_done {
                break 'happened Ok(EngineEvent::Time);
            }
            let wake_at = self.wake_at();
            if self.timer.deadline() != wake_at {
                self.timer.as_mut().reset(wake_at);
            }
            std::task::ready!(self.timer.as_mut().poll(cx));
            Ok(EngineEvent::Time)
        };
        Poll::Ready(happened.map_err(WorkflowError::Store))
    }

    /// When the next thing is to be done by the clock.
    fn wake_at(&self) -> Instant {
        let mut at = self.extend_at.min(self.poll_at);
        if let Some(claim_at) = self.claim_at.filter(|_| self.may_claim()) {
            at = at.min(claim_at);
        }
        if let Some(open_for) = self.breaker.as_ref().map(Breaker::open_for)
            && !open_for.is_zero()
            && open_for < POLL_EVERY
        {
            at = at.min(Instant::now() + open_for);
        }
        at
    }

    /// Starts all that can be started now.
    fn start_what_can_be(&mut self) {
        let now = Instant::now();
        self.start_tasks();
        self.start_settling();
        // Before anything is claimed: handlers may have kept this from running, and leases that
        // have ended meanwhile are to be prolonged, and not claimed by whoever has them.
        if self.extend_at <= now {
            self.extend_at = now + self.lease / 3;
            self.start_extending();
        }
        if self.claim_at.is_some_and(|at| at <= now) && self.may_claim() {
            self.start_claiming();
        }
        if self.breaker.as_ref().is_some_and(Breaker::has_moved) {
            self.share_breaker();
        }
        if self.poll_at <= now {
            self.poll_at = now + POLL_EVERY;
            self.poll_store();
        }
        let idle = self.tasks.is_empty() && self.finished.is_empty() && self.ready.is_empty();
        // A look from before the last change says nothing of now.
        let is_old = self.claim_at.is_none() || self.looked != Some(self.changes);
        if idle && self.ops.are_quiet() && is_old && self.stopping.is_none() {
            self.start_looking_ahead();
        }
    }

    fn has_free_place(&self) -> bool {
        self.tasks.len() < self.max_parallel
    }

    fn start_tasks(&mut self) {
        // What is done is about to stop the job: nothing is started beyond a bound.
        let will_stop = self.unsettled.stops > 0
            || self.exceeded(self.unsettled.ended, self.unsettled.failed).is_some();
        while !will_stop
            && self.has_free_place()
            && self.stopping.is_none()
            && self.breaker.as_ref().is_none_or(|breaker| breaker.admits(self.tasks.len()))
        {
            let Some(lease) = self.ready.pop_front() else { break };
            self.ready_bytes = self.ready_bytes.saturating_sub(lease.payload.len());
            self.tasks.spawn(Arc::clone(&self.process).run(lease));
        }
        if self.stopping.is_some() && !self.ready.is_empty() {
            let released = self.ready.drain(..).map(|lease| Completion::released(lease.key));
            self.finished.extend(released);
        }
    }

    fn start_settling(&mut self) {
        if self.finished.is_empty() || self.ops.settle.is_some() {
            return;
        }
        let mut finished = std::mem::take(&mut self.finished);
        let held = &mut self.held;
        let settle = |finished: &mut Completion| {
            let mut settlement = finished.settlement.take()?;
            // No longer held: once it is settled, it may be claimed again before the answer is here.
            settlement.lease = held.take(finished.key);
            Some(settlement)
        };
        let settlements: Vec<Settlement> = finished.iter_mut().filter_map(settle).collect();
        let store = self.store.clone();
        self.ops.settle = Some(boxed(async move {
            let good = store.settle(settlements, Timestamp::now()).await?;
            Ok((finished, good))
        }));
    }

    fn may_claim(&self) -> bool {
        self.stopping.is_none()
            && self.ops.claim.is_none()
            && self.ops.extend.is_none()
            && self.wanted() >= self.worth_a_claim()
            && self.ready_bytes < MOST_CLAIMED_BYTES
            && self.breaker.as_ref().is_none_or(Breaker::is_closed_enough)
    }

    /// How many leases this worker wants to have: one for each place, and those that will be
    /// handed out while it asks for more.
    fn most_held(&self) -> usize {
        let wanted = self.max_parallel.saturating_add(self.rate.in_a_while());
        match &self.breaker {
            Some(breaker) => breaker.most_held(wanted),
            None => wanted,
        }
    }

    /// How many more leases this worker wants to have.
    fn wanted(&self) -> usize {
        self.most_held().saturating_sub(self.held.len())
    }

    /// A claim has its price, whatever its size: many at a time, unless a place would be empty.
    fn worth_a_claim(&self) -> usize {
        let free = self.max_parallel.saturating_sub(self.tasks.len());
        if self.ready.len() < free { 1 } else { (self.most_held() / 4).max(1) }
    }

    fn start_claiming(&mut self) {
        let wanted = self.wanted();
        self.claim_at = None;
        let claiming = {
            let (store, job, worker) = (self.store.clone(), self.job.clone(), self.worker.clone());
            let lease = self.lease;
            async move {
                let leases = store.claim(&job, &worker, Timestamp::now(), wanted, lease).await?;
                Ok((leases, wanted))
            }
        };
        self.ops.claim = Some(boxed(claiming));
    }

    fn claimed(&mut self, leases: Vec<Lease>, wanted: usize) {
        // Fewer than were asked for: no more are due. Whatever happens asks again, and may have
        // done so while this claim was under way.
        let bytes: usize = leases.iter().map(|lease| lease.payload.len()).sum();
        if leases.len() >= wanted || bytes >= MOST_CLAIMED_BYTES {
            self.claim_soon();
        }
        if !leases.is_empty() {
            self.changes += 1;
        }
        for lease in leases {
            // Its own, which had ended: whoever works on it, or is about to, goes on.
            if self.held.renew(lease.key) {
                continue;
            }
            self.held.add(lease.key);
            self.ready_bytes = self.ready_bytes.saturating_add(lease.payload.len());
            self.ready.push_back(lease);
        }
    }

    fn claim_soon(&mut self) {
        self.claim_at = Some(Instant::now());
    }

    fn start_looking_ahead(&mut self) {
        if self.ops.next_due.is_none() {
            let (store, job) = (self.store.clone(), self.job.clone());
            let changes = self.changes;
            self.looked = Some(changes);
            self.ops.next_due =
                Some(boxed(async move { Ok((changes, store.next_due(&job).await?)) }));
        }
    }

    /// Nothing can be claimed before `due`.
    fn sleep_until(&mut self, due: Option<Timestamp>) {
        // Another process may add items, or put them back.
        let wait = due.map_or(POLL_EVERY, |due| due.since(Timestamp::now()).min(POLL_EVERY));
        self.claim_at = Some(Instant::now() + wait);
        // Nothing at all is pending or leased: is it the end?
        if due.is_none() && self.counted != Some(self.changes) {
            self.start_counting();
        }
    }

    fn start_counting(&mut self) {
        if self.ops.counts.is_none() {
            let (store, job) = (self.store.clone(), self.job.clone());
            let changes = self.changes;
            self.ops.counts = Some(boxed(async move { Ok((changes, store.counts(&job).await?)) }));
        }
    }

    fn counted(&mut self, changes: u64, counts: Counts) {
        self.counts = counts;
        self.may_be_counted = self.ops.settle.is_some();
        self.counted = Some(changes);
        (self.ended, self.failed) = (0, 0);
        self.collector.tell(&self.progress());
        self.check_bounds();
    }

    fn progress(&self) -> JobEvent<'static> {
        JobEvent::Progress {
            counts: self.counts,
            input_complete: self.input_complete,
            running: self.tasks.len(),
            open_for: self.breaker.as_ref().map(Breaker::open_for).unwrap_or_default(),
        }
    }

    /// Looks at what other processes have done, and leaves for them what they are to know.
    fn poll_store(&mut self) {
        self.start_counting();
        if self.claim_at.is_none() {
            self.claim_soon();
        }
        self.share_breaker();
    }

    fn share_breaker(&mut self) {
        if let Some(breaker) = &self.breaker
            && self.ops.breaker.is_none()
        {
            self.ops.breaker = Some(boxed(breaker.clone().share(self.store.clone())));
        }
    }

    fn start_extending(&mut self) {
        if self.ops.extend.is_some() || self.held.is_empty() {
            return;
        }
        let (store, keys, lease) = (self.store.clone(), self.held.keys(), self.lease);
        self.ops.extend = Some(boxed(async move {
            // One that is not prolonged is refused when it is settled.
            store.extend(keys, Timestamp::now() + lease).await.map(drop)
        }));
    }

    fn enqueue(&mut self, items: Vec<crate::item::record::NewItem>) {
        if items.is_empty() {
            self.claim_soon();
            return;
        }
        let (store, job) = (self.store.clone(), self.job.clone());
        self.ops.enqueue =
            Some(boxed(async move { store.enqueue(&job, items, Timestamp::now()).await }));
    }

    /// The store has answered for an item.
    fn settled(&mut self, finished: Completion, good: bool, source: &mut impl Source) {
        self.unsettled.remove(&Unsettled::of(&finished));
        self.rate.count();
        if self.claim_at.is_none() && finished.puts_back() {
            self.claim_soon();
        }
        // Another worker has the item: what becomes of it is for that one to say.
        if !good {
            return;
        }
        if let Some(state) = finished.state {
            self.ended += 1;
            if state != ItemState::Succeeded {
                self.failed += 1;
            }
            if source.ended(&finished.id, state) {
                self.input_complete = false;
            }
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

    /// The bound that is passed with so many more items.
    fn exceeded(&self, more_ended: u64, more_failed: u64) -> Option<Exceeded> {
        let ended = self.counts.ended() + self.ended + more_ended;
        let failed = self.counts.failed() + self.failed + more_failed;
        self.policy.exceeded(
            ended.saturating_sub(self.baseline.ended),
            failed.saturating_sub(self.baseline.failed),
        )
    }

    /// Whether the job is to stop by its policy.
    fn check_bounds(&mut self) {
        match self.exceeded(0, 0) {
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

    /// Starts nothing more; what runs comes to its end.
    fn stop(&mut self, reason: StopReason) {
        if self.stopping.is_none() {
            self.collector.tell(&JobEvent::Stopping { reason: &reason });
            self.stopping = Some(reason);
        }
    }

    fn is_over(&self) -> bool {
        let idle = self.tasks.is_empty()
            && self.finished.is_empty()
            && self.ready.is_empty()
            && self.ops.are_quiet();
        // Counts of this very moment: all that this worker has done is in them.
        let is_counted = self.counted == Some(self.changes);
        let all = self.input_complete && is_counted && self.counts.unfinished() == 0;
        idle && (self.stopping.is_some() || all)
    }

    async fn end(mut self) -> Result<(), WorkflowError> {
        self.counts = self.store.counts(&self.job).await?;
        self.collector.finish();
        self.collector.tell(&self.progress());
        if let Some(breaker) = &self.breaker {
            breaker.clone().share(self.store.clone()).await?;
        }
        let finished = self.input_complete && self.counts.unfinished() == 0;
        let status = match self.stopping.take() {
            // The last item can be one failure too many; the job has come to its end all the same.
            Some(reason) if !finished || matches!(reason, StopReason::Item { .. }) => {
                JobStatus::Stopped { reason }
            }
            _ if self.is_whole => JobStatus::Finished,
            _ => JobStatus::Stopped { reason: StopReason::InputIncomplete },
        };
        Job::update(&self.store, &self.job, |job| {
            job.status = status.clone();
            job.ended = Some(Timestamp::now());
        })
        .await?;
        Ok(())
    }
}
