//! [`AttemptRunner`]: takes a leased item to its settlement: the breaker's permit, the attempt, and what
//! the error policy makes of an item whose retries have ended.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use retry_runtime::durable::AskedWait;
use retry_runtime::{Class, Permit, Reason, Retrier};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Options;
use crate::engine::limits::breaker::JobBreaker;
use crate::engine::limits::capacity;
use crate::engine::limits::keys::{JobLimit, keys_of};
use crate::engine::retry_state::{NextStep, RetryState};
use crate::engine::work::{
    AttemptReport, AttemptTimer, BoxFuture, DynWork, StepRecord, WorkItem, WorkOutcome,
};
use crate::item::clock::{Clock, Timestamp};
use crate::item::context::ItemContext;
use crate::item::failure::Failure;
use crate::item::json::is_default;
use crate::item::lease::{Lease, LeaseKey, Settled, Settlement, StepTime};
use crate::item::record::{AttemptOutcome, AttemptRecord, ItemRecord, ItemState};
use crate::job::error_policy::OnItemFailure;
use crate::job::event::ItemFailure;

/// The class of a handler's panic.
const PANIC: &str = "panic";

/// A handler of the caller's that decides what becomes of an item.
pub(crate) type Handler =
    Arc<dyn Fn(ItemFailure) -> BoxFuture<'static, OnItemFailure> + Send + Sync>;

/// Handlers by name.
pub(crate) type Handlers = BTreeMap<String, Handler>;

/// The runner of attempts: this worker's handling of each leased item.
pub(super) struct AttemptRunner {
    job: Arc<str>,
    worker: Arc<str>,
    pub(super) clock: Clock,
    work: Arc<dyn DynWork>,
    limits: Arc<[JobLimit]>,
    action: OnItemFailure,
    handlers: Handlers,
    /// The retries of `on_item_failure: retry`.
    item_retries: Retrier,
    breaker: Option<JobBreaker>,
    slow_down_on: Class,
    max_lost: u32,
}

/// An item that is ready to be settled.
pub(super) struct Completion {
    /// Present until it is passed to the store.
    pub(super) settlement: Option<Settlement>,
    /// The rows to report as events. Those of its history are added if there is a listener.
    pub(super) reported: Vec<AttemptRecord>,
    pub(super) id: String,
    /// Its final state, if it has ended.
    pub(super) state: Option<ItemState>,
    /// The failure to report, if its retries have ended.
    pub(super) failure: Option<ItemFailure>,
    /// Set if the job must stop because of it.
    pub(super) stops: bool,
    /// The resource that this machine lacks, if the item could not begin.
    pub(super) not_begun: Option<String>,
    /// Set if it failed with a class for which fewer items run at the same time.
    pub(super) is_rejected: bool,
}

impl Completion {
    /// Settles an item.
    pub(super) fn new(id: String, settlement: Settlement) -> Self {
        let state = settlement.end.state();
        Self {
            settlement: Some(settlement),
            reported: Vec::new(),
            id,
            state: state.is_final().then_some(state),
            failure: None,
            stops: false,
            not_begun: None,
            is_rejected: false,
        }
    }

    /// Releases an item that was not started.
    pub(super) fn released(key: LeaseKey) -> Self {
        Self::new(String::new(), Settlement::released(key))
    }

    /// Settles an item that was not started.
    pub(super) fn not_started(key: LeaseKey, id: String, end: Settled) -> Self {
        Self::new(id, Settlement::new(key, end, Vec::new()))
    }
}

/// The state that an item leaves for its next attempt.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ItemCheckpoint {
    /// The checkpoint of the work itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    work: Option<Box<RawValue>>,
    /// The state of the policy's own retries of the item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rounds: Option<RetryState>,
    /// The place where the next round starts, if not where the run does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<Box<RawValue>>,
    /// The place where a re-drive from the failed step starts; the start of the run, after one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<Box<RawValue>>,
    /// The run that has left it. A later one continues at its place only.
    #[serde(default, skip_serializing_if = "is_default")]
    run: u32,
    /// The number of times it has failed as a probe of the breaker and was put back.
    #[serde(default, skip_serializing_if = "is_default")]
    probes: u32,
    /// The sum of the waits of this run's postponed attempts, with the whole of the last one.
    #[serde(default, skip_serializing_if = "Duration::is_zero")]
    postponed_for: Duration,
    /// The end of the last of these waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    postponed_until: Option<Timestamp>,
    /// The row for those since the last row of the history, which is written with the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    postponed: Option<Box<AttemptRecord>>,
}

/// Returns what the last attempt of an item has left for the next one, if it left anything: the
/// [`WorkItem::checkpoint`] that the next attempt gets.
///
/// ```
/// use std::time::Duration;
///
/// use retry_workflow::store::NewItem;
/// use retry_workflow::work::{self, AttemptReport, WorkItem, WorkOutcome};
/// use retry_workflow::{JobRunner, SqliteStore, Store, Work};
///
/// struct Upload;
///
/// impl Work for Upload {
///     async fn attempt(&self, _: WorkItem<'_>) -> AttemptReport {
///         let (wait, checkpoint) = (Duration::from_secs(3600), "\"part 2\"".to_owned());
///         AttemptReport::new(WorkOutcome::Retry { wait, checkpoint })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteStore::in_memory();
/// let upload = JobRunner::new("upload").store(store.clone()).deadline(Duration::from_secs(60));
/// upload.run(vec![NewItem::new("photo", "7")].into_iter(), Upload).await?;
/// let photo = store.item("upload-1", "photo").await?.unwrap();
/// assert_eq!(work::checkpoint(&photo).as_deref(), Some("\"part 2\""));
/// # Ok(())
/// # }
/// ```
pub fn checkpoint(item: &ItemRecord) -> Option<String> {
    ItemCheckpoint::read(item.checkpoint.as_deref()).next()
}

/// Returns the row of the history for the attempts of an item that were
/// [postponed](AttemptOutcome::Postponed) since its last row. The history gets it once another
/// attempt has ended.
///
/// ```
/// use std::time::Duration;
///
/// use retry_workflow::{SqliteStore, Store, Workflow, keyed, work};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteStore::in_memory();
/// let import = Workflow::new("import").store(store.clone()).deadline(Duration::from_secs(150));
/// let items = keyed([1_u32], ToString::to_string);
/// let wait = |_: u32, cx: retry_workflow::ItemContext| async move {
///     cx.postpone(Duration::from_secs(60));
///     Err::<(), _>("the export is not there yet")
/// };
/// import.run(items, wait).await?;
/// let row = work::postponed(&store.item("import-1", "1").await?.unwrap()).unwrap();
/// assert_eq!((row.failure.unwrap().times, row.wait), (3, Duration::from_secs(180)));
/// # Ok(())
/// # }
/// ```
pub fn postponed(item: &ItemRecord) -> Option<AttemptRecord> {
    ItemCheckpoint::read(item.checkpoint.as_deref()).postponed.map(|row| *row)
}

/// Returns the step at which a re-drive [from the failed step](crate::Redrive::from_failed)
/// continues an item that has failed, if its work has [named it](AttemptReport::resume_from).
///
/// ```
/// use retry_workflow::store::NewItem;
/// use retry_workflow::work::{self, AttemptReport, AttemptTimer, Reason, WorkItem};
/// use retry_workflow::{Failure, JobRunner, SqliteStore, Store, Work};
///
/// struct Upload;
///
/// impl Work for Upload {
///     async fn attempt(&self, _: WorkItem<'_>) -> AttemptReport {
///         let failure = Failure::new("other", "no space");
///         AttemptReport::failed(AttemptTimer::start(), failure, Reason::Attempts)
///             .resume_from(r#"{ "step": "part 2", "bytes": 4096 }"#)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteStore::in_memory();
/// let upload = JobRunner::new("upload").store(store.clone());
/// upload.run(vec![NewItem::new("photo", "7")].into_iter(), Upload).await?;
/// let photo = store.item("upload-1", "photo").await?.unwrap();
/// assert_eq!(work::failed_step(&photo).as_deref(), Some("part 2"));
/// # Ok(())
/// # }
/// ```
pub fn failed_step(item: &ItemRecord) -> Option<String> {
    let place = checkpoint(item).filter(|_| item.state.is_final())?;
    let place: serde_json::Value = serde_json::from_str(&place).ok()?;
    place["step"].as_str().map(str::to_owned)
}

/// An item that fails as a probe says more about the other side than about itself. After this many
/// times, it may be the item after all.
const MOST_PROBES: u32 = 3;

/// Reports the outcome of an attempt to the breaker, and the wait that a server has asked for.
fn record_outcome(permit: Permit<'_>, outcome: &WorkOutcome, asked: Option<AskedWait>) {
    let permit = match asked {
        Some(asked) => asked.report(permit),
        None => Some(permit),
    };
    let Some(permit) = permit else { return };
    match outcome {
        WorkOutcome::Succeeded(_) => permit.success(),
        WorkOutcome::Failed { failure, .. } if failure.class == PANIC => permit.failure(),
        // A failure that no retry would fix says nothing about the health of the other side.
        WorkOutcome::Failed { reason: Reason::NotRetryable, .. }
        | WorkOutcome::Skipped(_)
        | WorkOutcome::Postponed { .. }
        | WorkOutcome::NotBegun { .. }
        | WorkOutcome::Released => permit.forgive(),
        _ => permit.failure(),
    }
}

impl ItemCheckpoint {
    fn read(text: Option<&str>) -> Self {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    /// The checkpoint that the next attempt gets.
    fn next(&self) -> Option<String> {
        let next = self.work.as_ref().or(self.place.as_ref()).or(self.start.as_ref());
        next.map(|next| next.get().to_owned())
    }

    /// The part of it that is left for this run.
    fn in_run(self, run: u32) -> Self {
        if self.run == run {
            return self;
        }
        Self { start: self.work.or(self.place).or(self.start), run, ..Self::default() }
    }

    /// Subtracts the part of the last postponement that was not waited, because the item was made
    /// due before.
    fn end_postponement(&mut self, clock: &Clock) {
        if let Some(rounds) = &mut self.rounds {
            rounds.resume();
        }
        let Some(until) = self.postponed_until.take() else { return };
        let rest = until.since(clock());
        self.postponed_for = self.postponed_for.saturating_sub(rest);
        if let Some(row) = &mut self.postponed {
            row.wait = row.wait.saturating_sub(rest);
        }
    }

    fn write(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }
}

/// Returns the outcome, or a failure if the checkpoint that it leaves is not JSON.
fn with_json(outcome: WorkOutcome) -> WorkOutcome {
    let checkpoint = match &outcome {
        WorkOutcome::Retry { checkpoint, .. } => Some(checkpoint),
        WorkOutcome::Postponed { checkpoint, .. }
        | WorkOutcome::Uncounted { checkpoint, .. }
        | WorkOutcome::NotBegun { checkpoint, .. } => checkpoint.as_ref(),
        _ => None,
    };
    match checkpoint.map(|text| serde_json::from_str::<&RawValue>(text)) {
        Some(Err(error)) => {
            let message = format!("the checkpoint of the attempt is not JSON: {error}");
            let failure = Failure::new("other", message);
            WorkOutcome::Failed { failure, reason: Reason::NotRetryable }
        }
        _ => outcome,
    }
}

/// A checkpoint [that is JSON](with_json).
fn json(checkpoint: String) -> Box<RawValue> {
    RawValue::from_string(checkpoint).unwrap_or_default()
}

impl AttemptRunner {
    pub(super) fn new(
        (job, worker): (&Arc<str>, &Arc<str>),
        clock: Clock,
        (work, limits): (Arc<dyn DynWork>, Arc<[JobLimit]>),
        options: &Options,
        breaker: Option<&JobBreaker>,
    ) -> Self {
        Self {
            job: Arc::clone(job),
            worker: Arc::clone(worker),
            clock,
            work,
            limits,
            action: options.policy.on_item_failure.clone(),
            handlers: options.handlers.clone(),
            item_retries: Retrier::new(options.policy.retry_config).name("workflow"),
            breaker: breaker.cloned(),
            slow_down_on: options.slow_down_on,
            // An item with none would not begin.
            max_lost: options.max_lost.max(1),
        }
    }

    pub(super) async fn run(self: Arc<Self>, lease: Lease) -> Completion {
        let (key, id) = (lease.key, lease.id.clone());
        match catch_panic(self.handle(lease)).await {
            Ok(finished) => finished,
            // Panics of handlers are caught inside: whatever this was, the item must not be lost.
            Err(panic) => Completion::not_started(key, id, Settled::dead(panicked(&*panic))),
        }
    }

    async fn handle(self: Arc<Self>, lease: Lease) -> Completion {
        let strikes = lease.strikes();
        let Lease { key, id, payload, correlation, run, attempt, checkpoint, .. } = lease;
        let timer = AttemptTimer::start();
        let mut last = ItemCheckpoint::read(checkpoint.as_deref()).in_run(run);
        last.end_postponement(&self.clock);
        let resume_from = last.next();
        let ItemCheckpoint { work, rounds, place, start, probes, postponed_for, postponed, .. } =
            last;
        let item = LeasedItem {
            key,
            attempt,
            id: id.clone(),
            correlation: correlation.clone(),
            kept: ItemCheckpoint { start, run, postponed_for, ..ItemCheckpoint::default() },
            postponed,
        };

        if let Some(failure) = self.unfit(strikes, &payload) {
            let measured = Measured { resume_from, ..Measured::default() };
            return Box::pin(self.failed(item, &payload, rounds, failure, measured)).await;
        }
        if let Some(rounds) = rounds.as_ref().filter(|_| work.is_none())
            && rounds.expired_by(self.item_retries.policy(), &self.worker).is_some()
        {
            // Its time ran out while no process was working on it.
            let settled = item.dead(rounds.failure.clone(), resume_from);
            return self.finished(item, settled, Measured::default(), None);
        }
        let permit = match self.breaker.as_ref().map(|breaker| breaker.circuit().try_acquire()) {
            None => None,
            Some(Ok(permit)) => Some(permit),
            // Another item took the permit first: this one has not been started.
            Some(Err(_)) => return Completion::released(key),
        };
        let probed = self.breaker.as_ref().filter(|breaker| breaker.is_half_open());
        let (job, worker) = (Arc::clone(&self.job), Arc::clone(&self.worker));
        let given = WorkItem {
            context: ItemContext { correlation, run, attempt, ..ItemContext::new(job, id, worker) },
            payload: &payload,
            checkpoint: resume_from,
            is_continued: work.is_some(),
            postponed: postponed_for,
        };
        let (outcome, mut measured) = self.attempt(given, permit, timer).await;
        match outcome {
            WorkOutcome::Succeeded(output) => {
                if let Some(rounds) = &rounds {
                    rounds.succeeded(&self.item_retries);
                }
                self.finished(item, Settled::Succeeded(output), measured, None)
            }
            WorkOutcome::Skipped(failure) => {
                let checkpoint = item.place(measured.resume_from.take());
                let end = Settled::Skipped { failure: Some(failure), checkpoint };
                self.finished(item, end, measured, None)
            }
            WorkOutcome::Released => Completion::released(key),
            WorkOutcome::NotBegun { why, checkpoint: reached } => {
                let (due, work) = ((self.clock)() + capacity::PAUSE, reached.map(json));
                let end = match work {
                    None => Settled::Deferred { due, checkpoint, for_limit: false },
                    work => {
                        let left = ItemCheckpoint { work, rounds, probes, ..item.kept.clone() };
                        Settled::RetryAt { due, checkpoint: left.write() }
                    }
                };
                let completion = self.finished(item, end, measured, None);
                Completion { not_begun: Some(why), ..completion }
            }
            WorkOutcome::Postponed { wait, checkpoint }
            | WorkOutcome::Uncounted { wait, checkpoint } => {
                // Without a checkpoint it continues where this attempt began.
                let place = place.filter(|_| checkpoint.is_none());
                let work = checkpoint.map(json).or(work);
                let left = ItemCheckpoint { work, rounds, place, probes, ..item.kept.clone() };
                self.come_back(item, left, (wait, timer.elapsed()), measured)
            }
            WorkOutcome::Retry { wait, checkpoint } => {
                let due = (self.clock)() + wait;
                let work = Some(json(checkpoint));
                let left = ItemCheckpoint { work, rounds, probes, ..item.kept.clone() };
                let end = Settled::RetryAt { due, checkpoint: left.write() };
                self.finished(item, end, measured, Some(wait))
            }
            WorkOutcome::Failed { reason, .. }
                if reason != Reason::NotRetryable && probes < MOST_PROBES && probed.is_some() =>
            {
                let open_for = probed.map(JobBreaker::rejects_for).unwrap_or_default();
                let due = (self.clock)() + open_for;
                let checkpoint =
                    ItemCheckpoint { rounds, probes: probes + 1, ..item.kept.clone() }.write();
                self.finished(item, Settled::RetryAt { due, checkpoint }, measured, Some(open_for))
            }
            WorkOutcome::Failed { failure, .. } => {
                Box::pin(self.failed(item, &payload, rounds, failure, measured)).await
            }
        }
    }

    /// The failure of an item that is not tried: it has killed its workers, or can never start.
    fn unfit(&self, strikes: u32, payload: &str) -> Option<Failure> {
        if strikes >= self.max_lost {
            let message =
                format!("{strikes} workers in a row died while working on this item alone");
            return Some(Failure::new("lost", message));
        }
        let has_costs = self.limits.iter().any(JobLimit::has_costs);
        let message = has_costs.then(|| keys_of(&self.limits, payload).err()).flatten()?;
        Some(Failure::new("payload", message))
    }

    /// Runs an attempt, and reports its outcome to the breaker of the job.
    async fn attempt(
        &self,
        given: WorkItem<'_>,
        permit: Option<Permit<'_>>,
        timer: AttemptTimer,
    ) -> (WorkOutcome, Measured) {
        let report = match catch_panic(self.work.attempt_boxed(given)).await {
            Ok(report) => report,
            Err(panic) => AttemptReport::failed(timer, panicked(&*panic), Reason::NotRetryable),
        };
        let AttemptReport { outcome, records, step_times, asked_wait, resume_from } = report;
        let is_rejected = records
            .iter()
            .filter_map(|record| record.failure.as_ref())
            .any(|failure| failure.is_of(self.slow_down_on));
        let measured = Measured { records, step_times, resume_from, is_rejected };
        if let Some(permit) = permit {
            record_outcome(permit, &outcome, asked_wait);
            self.breaker.iter().filter(|_| asked_wait.is_some()).for_each(JobBreaker::note_hold);
        }
        (with_json(outcome), measured)
    }

    /// Decides what becomes of an item whose retries have ended.
    async fn failed(
        &self,
        item: LeasedItem,
        payload: &str,
        rounds: Option<RetryState>,
        failure: Failure,
        mut measured: Measured,
    ) -> Completion {
        let mut event = ItemFailure {
            job: Arc::clone(&self.job),
            item: item.id.clone(),
            correlation: item.correlation.clone(),
            payload: payload.to_owned(),
            run: item.kept.run,
            attempt: item.attempt,
            worker: Arc::clone(&self.worker),
            failure: failure.clone(),
            state: ItemState::Dead,
        };
        let mut action = self.action.clone();
        if let OnItemFailure::Custom(name) = &action {
            action = match self.handlers.get(name) {
                // A handler that panics has decided nothing: the item is kept as a dead letter.
                Some(handler) => {
                    // Called inside the future, because it may panic before it returns one.
                    let decided = async { handler(event.clone()).await };
                    catch_panic(decided).await.unwrap_or(OnItemFailure::Dlq)
                }
                None => OnItemFailure::Dlq,
            };
        }
        let is_lost = failure.class == "lost";
        let place = measured.resume_from.take();
        let mut stops = false;
        let (end, wait) = match action {
            OnItemFailure::Retry | OnItemFailure::RetryStep if !is_lost => {
                let error = failure.to_string();
                match RetryState::decide(
                    rounds,
                    &self.item_retries,
                    &self.worker,
                    Ok(&error),
                    &failure,
                    None,
                ) {
                    NextStep::Retry { wait, state } | NextStep::Postpone { wait, state } => {
                        event.state = ItemState::Pending;
                        let place = place.filter(|_| action == OnItemFailure::RetryStep);
                        let (rounds, place) = (Some(*state), place.and_then(stored));
                        let checkpoint =
                            ItemCheckpoint { rounds, place, ..item.kept.clone() }.write();
                        let due = (self.clock)() + wait;
                        (Settled::RetryAt { due, checkpoint }, Some(wait))
                    }
                    NextStep::GiveUp(_) => (item.dead(failure, place), None),
                }
            }
            OnItemFailure::Skip => {
                event.state = ItemState::Skipped;
                let checkpoint = item.place(place);
                (Settled::Skipped { failure: Some(failure), checkpoint }, None)
            }
            action => {
                stops = action == OnItemFailure::Stop;
                (item.dead(failure, place), None)
            }
        };
        let puts_back = event.state == ItemState::Pending;
        Completion {
            // An item that is put back is reported once it ends.
            failure: (!puts_back).then_some(event),
            stops,
            ..self.finished(item, end, measured, wait)
        }
    }

    /// Puts back an item whose attempt was postponed after it had taken some time.
    fn come_back(
        &self,
        mut item: LeasedItem,
        mut left: ItemCheckpoint,
        (wait, took): (Duration, Duration),
        mut measured: Measured,
    ) -> Completion {
        let due = (self.clock)() + wait;
        let mut event = None;
        left.postponed = match measured.records.pop_if(|row| row.failure.is_some()) {
            Some(record) => {
                left.postponed_for = left.postponed_for.saturating_add(wait);
                left.postponed_until = Some(due);
                let outcome = AttemptOutcome::Postponed;
                let record = StepRecord { outcome, output: None, ..record };
                let row = self.row((item.kept.run, item.attempt), record, wait);
                let all = with_those_before(row.clone(), item.postponed.take());
                event = Some(row);
                Some(Box::new(all))
            }
            None => item.postponed.take(),
        };
        if let Some(rounds) = &mut left.rounds {
            rounds.postpone(took, wait);
        }
        let end = Settled::Deferred { due, checkpoint: left.write(), for_limit: false };
        let mut completion = self.finished(item, end, measured, None);
        completion.reported.extend(event);
        completion
    }

    /// The row of the history for a record.
    fn row(&self, (run, attempt): (u32, u32), record: StepRecord, wait: Duration) -> AttemptRecord {
        let StepRecord { step, started, duration, outcome, failure, output } = record;
        let worker = Arc::clone(&self.worker);
        AttemptRecord {
            run,
            attempt,
            started,
            duration,
            wait,
            worker,
            step,
            outcome,
            failure,
            output,
        }
    }

    fn finished(
        &self,
        item: LeasedItem,
        mut end: Settled,
        measured: Measured,
        wait: Option<Duration>,
    ) -> Completion {
        // The history has it already.
        if let Settled::Dead { failure, .. } | Settled::Skipped { failure: Some(failure), .. } =
            &mut end
        {
            failure.output = None;
        }
        let LeasedItem { key, attempt, id, kept: ItemCheckpoint { run, .. }, postponed, .. } = item;
        // Rows of postponed attempts are written with the next row.
        let postponed = postponed.filter(|_| !matches!(end, Settled::Deferred { .. }));
        let Measured { records, step_times, is_rejected, .. } = measured;
        let last = records.len().saturating_sub(1);
        let history = records.into_iter().enumerate().map(|(at, record)| {
            self.row((run, attempt), record, wait.filter(|_| at == last).unwrap_or_default())
        });
        let history = postponed.map(|row| *row).into_iter().chain(history).collect();
        let settlement = Settlement { step_times, ..Settlement::new(key, end, history) };
        Completion { is_rejected, ..Completion::new(id, settlement) }
    }
}

/// The row for a postponed attempt, and those before it, as it is stored.
fn with_those_before(mut row: AttemptRecord, before: Option<Box<AttemptRecord>>) -> AttemptRecord {
    row.failure = row.failure.map(Failure::without_output);
    if let Some(before) = before {
        let times = before.failure.map_or(0, |failure| failure.times);
        row.failure = row.failure.map(|it| Failure { times: times.saturating_add(1), ..it });
        row.wait = before.wait.saturating_add(row.wait);
    }
    row
}

/// The measurements of an attempt besides its outcome.
#[derive(Default)]
struct Measured {
    records: Vec<StepRecord>,
    step_times: Vec<StepTime>,
    /// The place where a failed item can continue.
    resume_from: Option<String>,
    is_rejected: bool,
}

/// Identifies an item.
struct LeasedItem {
    key: LeaseKey,
    attempt: u32,
    id: String,
    correlation: Option<String>,
    /// The part of the checkpoint that stays the same for a whole run.
    kept: ItemCheckpoint,
    /// The row for its last attempts, if they were postponed.
    postponed: Option<Box<AttemptRecord>>,
}

impl LeasedItem {
    /// The end as a dead letter, which a re-drive can continue at this place.
    fn dead(&self, failure: Failure, place: Option<String>) -> Settled {
        Settled::Dead { failure, checkpoint: self.place(place) }
    }

    /// The checkpoint with which the item ends: this place, or else the start of the run.
    fn place(&self, place: Option<String>) -> Option<String> {
        let start = place.and_then(stored).or_else(|| self.kept.start.clone())?;
        ItemCheckpoint { start: Some(start), ..ItemCheckpoint::default() }.write()
    }
}

/// A place to be stored. One that is not JSON cannot be: the item starts over.
fn stored(place: String) -> Option<Box<RawValue>> {
    RawValue::from_string(place).ok()
}

/// Returns the future's output, or its panic: one bad item must not end a job.
pub(super) fn catch_panic<F: Future>(
    future: F,
) -> impl Future<Output = Result<F::Output, Box<dyn Any + Send>>> {
    // A future that has panicked is dropped without being polled again.
    AssertUnwindSafe(future).catch_unwind()
}

/// The failure of an item whose handler panicked.
fn panicked(panic: &(dyn Any + Send)) -> Failure {
    Failure::new(PANIC, format!("panicked: {}", panic_message(panic)))
}

/// The message of a panic.
pub(super) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::clock::by_clock;

    /// The size of the future that a function returns.
    fn size_of_future<A, F: Future>(_: impl Fn(A) -> F) -> usize {
        size_of::<F>()
    }

    /// The future is copied several times on its way into the task of its item. It once had 7,760
    /// bytes, most of them for ends that few attempts have, and a job on SQLite took 5 % more time.
    #[test]
    fn future_of_an_attempt_is_small_enough_to_be_copied_for_each_item() {
        let size = size_of_future(|(clock, attempts, lease)| {
            by_clock(clock, AttemptRunner::run(attempts, lease))
        });
        assert!(size <= 2_560, "{size} bytes: keep what few attempts need behind a pointer");
    }
}
