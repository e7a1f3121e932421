//! [`Work`]: what is done with an item. Closures of workflows, tasks of graphs and steps of
//! workflow files are all work; the engine knows nothing else about them.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use retry_runtime::Reason;
use retry_runtime::durable::AskedWait;
use tokio::time::Instant;

use crate::item::clock::Timestamp;
use crate::item::context::ItemContext;
use crate::item::failure::Failure;
use crate::item::lease::StepTime;
use crate::item::record::AttemptOutcome;

/// A kind of work: what is done with each item of a job.
///
/// A closure for [`Workflow`](crate::Workflow) or [`Task`](crate::Task) is enough if an attempt
/// simply succeeds or fails. Your own work decides more: it can leave a checkpoint for its next
/// attempt, postpone an item, skip it, store an output, or write several records into the history.
/// [`JobRunner`](crate::JobRunner) runs it on the items of a job,
/// [`Graph::work`](crate::Graph::work) as a task of a graph.
///
/// Here is an upload that continues where its last attempt stopped:
///
/// ```
/// use std::io::{Error, ErrorKind};
/// use std::time::Duration;
///
/// use retry_workflow::store::NewItem;
/// use retry_workflow::work::{AttemptReport, AttemptTimer, Reason, WorkItem, WorkOutcome};
/// use retry_workflow::{Failure, JobRunner, SqliteStore, Store, Work};
///
/// struct Upload;
///
/// impl Work for Upload {
///     async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
///         let timer = AttemptTimer::start();
///         let sent = item.checkpoint.as_deref().map_or(0, |sent| sent.parse().unwrap_or(0));
///         let Ok(size) = item.payload.parse::<u64>() else {
///             let failure = Failure::new("payload", "the payload is not a size");
///             return AttemptReport::failed(timer, failure, Reason::NotRetryable);
///         };
///         match send(sent, size) {
///             Ok(()) => AttemptReport::succeeded(timer, Some(format!("\"{size} bytes\""))),
///             // The first two parts arrived: the next attempt sends the rest, in five seconds.
///             Err((error, sent)) => {
///                 let (wait, checkpoint) = (Duration::from_secs(5), sent.to_string());
///                 let failure = Failure::new("network", error.to_string());
///                 AttemptReport::new(WorkOutcome::Retry { wait, checkpoint })
///                     .record(timer.failed(failure))
///             }
///         }
///     }
/// }
///
/// # fn send(from: u64, _: u64) -> Result<(), (Error, u64)> {
/// #     if from == 0 { Err((ErrorKind::ConnectionReset.into(), 2)) } else { Ok(()) }
/// # }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteStore::in_memory();
/// let items = vec![NewItem::new("photo-1", "7"), NewItem::new("photo-2", "9")];
/// let report = JobRunner::new("upload").store(store.clone()).run(items.into_iter(), Upload).await?;
///
/// assert!(report.is_success());
/// let photo = store.item("upload-1", "photo-2").await?.unwrap();
/// assert_eq!((photo.attempt, photo.output.as_deref()), (2, Some("\"9 bytes\"")));
/// # Ok(())
/// # }
/// ```
///
/// To retry with a policy, its limits, matchers and breakers, keep a
/// [`RetryState`](crate::work::RetryState) in the checkpoint.
pub trait Work: Send + Sync + 'static {
    /// Makes one attempt, and reports how it ended.
    ///
    /// The future may be dropped at any await: when the caller drops the job, or when this
    /// worker loses its lease. A panic is caught, and makes the item fail.
    fn attempt(&self, item: WorkItem<'_>) -> impl Future<Output = AttemptReport> + Send;
}

/// A future behind a pointer.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// [`Work`] behind a pointer: the engine is compiled once, not for each closure, and the tasks of a
/// graph are of many types.
pub(crate) trait DynWork: Send + Sync {
    /// See [`Work::attempt`].
    fn attempt_boxed<'a>(&'a self, item: WorkItem<'a>) -> BoxFuture<'a, AttemptReport>;
}

impl<W: Work> DynWork for W {
    fn attempt_boxed<'a>(&'a self, item: WorkItem<'a>) -> BoxFuture<'a, AttemptReport> {
        Box::pin(self.attempt(item))
    }
}

/// The class of an item that was postponed for too long.
pub(crate) const POSTPONED: &str = "postponed";

/// The shortest wait of a postponed attempt, so that an item that is never ready does not keep a
/// worker busy.
pub(crate) const SHORTEST_POSTPONEMENT: Duration = Duration::from_secs(1);

/// Returns how long an attempt that asks to be postponed for `wait` waits: at least 1 s.
pub fn postponement(wait: Duration) -> Duration {
    wait.max(SHORTEST_POSTPONEMENT)
}

/// An item, as one attempt gets it.
#[derive(Debug)]
#[non_exhaustive]
pub struct WorkItem<'a> {
    /// The item, and the number of its attempts.
    pub context: ItemContext,
    /// Its payload, as the [`Source`](crate::Source) gave it: JSON.
    pub payload: &'a str,
    /// The checkpoint of the last attempt, from [`WorkOutcome::Retry`] or
    /// [`WorkOutcome::Postponed`]: JSON; `None` in the first attempt of a run, unless it was
    /// re-driven [from the failed step](crate::Redrive::from_failed).
    pub checkpoint: Option<String>,
    /// `true` if an attempt of this run has left the checkpoint. Otherwise the run starts there, as
    /// after a re-drive from the failed step: with all its attempts, so a `RetryState` in the
    /// checkpoint is one of an earlier run, and has to be left out.
    pub is_continued: bool,
    /// The time that this run's [postponed](WorkOutcome::Postponed) attempts that left a record
    /// have waited. A wait that [`Job::make_due`](crate::Job::make_due) cut short counts up to
    /// then.
    pub postponed: Duration,
}

impl<'a> WorkItem<'a> {
    /// Creates an item without a checkpoint, for tests of your own [`Work`]. The engine creates all
    /// others.
    pub fn new(context: ItemContext, payload: &'a str) -> Self {
        Self { context, payload, checkpoint: None, is_continued: false, postponed: Duration::ZERO }
    }
}

/// The result of one attempt: how it ended, and what to write into the history.
#[derive(Debug)]
#[non_exhaustive]
pub struct AttemptReport {
    /// The outcome.
    pub outcome: WorkOutcome,
    /// The records for the history: one record for an attempt, or more if steps of it failed on
    /// the way; none if nothing was tried. [`Counts::attempts`](crate::Counts::attempts) counts
    /// these.
    pub records: Vec<StepRecord>,
    /// The durations of successful steps. They have no record of their own, but
    /// the metric `retry_job_step_seconds` has them as well.
    pub step_times: Vec<StepTime>,
    /// The wait for which the job's breaker holds all items, if a server has asked for one.
    pub asked_wait: Option<AskedWait>,
    /// The place where a failed item continues if
    /// [`OnItemFailure::RetryStep`](crate::OnItemFailure::RetryStep) decides so, or after a re-drive
    /// [from the failed step](crate::Redrive::from_failed): JSON.
    pub resume_from: Option<String>,
}

impl AttemptReport {
    /// Creates a report without records.
    pub fn new(outcome: WorkOutcome) -> Self {
        Self {
            outcome,
            records: Vec::new(),
            step_times: Vec::new(),
            asked_wait: None,
            resume_from: None,
        }
    }

    retry_rules::accessors! {
        /// Sets the wait that a server has asked for, as
        /// [`Retrier::asked_wait`](crate::Retrier::asked_wait) returns it: a breaker of the job
        /// with `hold` lets no item start until its end.
        #[must_use]
        pub fn asked_wait(self, wait: Option<AskedWait>) -> Self { asked_wait: wait }

        /// Sets the [checkpoint](WorkItem::checkpoint) from which a failed item continues if its
        /// handler returns [`OnItemFailure::RetryStep`](crate::OnItemFailure::RetryStep), or after a
        /// re-drive [from the failed step](crate::Redrive::from_failed): JSON. Default: it starts over.
        /// The text `step` of a map is shown as the name of the place: see
        /// [`failed_step`](crate::work::failed_step).
        ///
        /// ```
        /// use retry_workflow::store::NewItem;
        /// use retry_workflow::work::{AttemptReport, AttemptTimer, Reason, WorkItem};
        /// use retry_workflow::{ErrorPolicy, Failure, JobRunner, OnItemFailure, Work};
        ///
        /// /// Fails at its second part, unless it continues there.
        /// struct Upload;
        ///
        /// impl Work for Upload {
        ///     async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
        ///         let timer = AttemptTimer::start();
        ///         if item.checkpoint.as_deref() == Some("2") {
        ///             return AttemptReport::succeeded(timer, None);
        ///         }
        ///         AttemptReport::failed(timer, Failure::new("other", "no space"), Reason::Attempts)
        ///             .resume_from("2")
        ///     }
        /// }
        ///
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let policy = ErrorPolicy::new().on_item_failure(OnItemFailure::RetryStep);
        /// let upload = JobRunner::new("upload").error_policy(policy);
        /// let report = upload.run(vec![NewItem::new("photo", "7")].into_iter(), Upload).await?;
        /// assert!(report.is_success());
        /// # Ok(())
        /// # }
        /// ```
        #[must_use]
        pub fn resume_from(self, checkpoint: impl Into<String>) -> Self { resume_from: Some(checkpoint.into()) }
    }

    /// Adds a record to the history.
    #[must_use]
    pub fn record(mut self, record: StepRecord) -> Self {
        self.records.push(record);
        self
    }

    /// Adds the time that a successful step took.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_workflow::work::{AttemptReport, AttemptTimer};
    ///
    /// let timer = AttemptTimer::start();
    /// let report = AttemptReport::succeeded(timer, None)
    ///     .step_time("download", Duration::from_secs(2))
    ///     .step_time("unpack", Duration::from_millis(300));
    /// assert_eq!(report.step_times.len(), 2);
    /// ```
    #[must_use]
    pub fn step_time(mut self, step: impl Into<String>, took: Duration) -> Self {
        self.step_times.push(StepTime::new(step, took));
        self
    }

    /// Creates the report of a successful attempt, with its output if it has one.
    pub fn succeeded(timer: AttemptTimer, output: Option<String>) -> Self {
        Self::new(WorkOutcome::Succeeded(output)).record(timer.succeeded())
    }

    /// Creates the report of a failed attempt that is the last one of its item.
    pub fn failed(timer: AttemptTimer, failure: Failure, reason: Reason) -> Self {
        let record = timer.failed(failure.clone());
        Self::new(WorkOutcome::Failed { failure, reason }).record(record)
    }
}

/// Measures an attempt, or a step of one, for its [`StepRecord`].
#[derive(Clone, Copy, Debug)]
pub struct AttemptTimer {
    started: Timestamp,
    // The system's clock may be set in the meantime; this one only moves forward.
    began: Instant,
}

impl AttemptTimer {
    /// Starts measuring now.
    pub fn start() -> Self {
        Self { started: Timestamp::now(), began: Instant::now() }
    }

    /// Returns how long it has taken so far.
    pub fn elapsed(self) -> Duration {
        self.began.elapsed()
    }

    /// Creates the record of an attempt or a step that succeeded just now.
    pub fn succeeded(self) -> StepRecord {
        self.record(AttemptOutcome::Succeeded, None)
    }

    /// Creates the record of an attempt or a step that failed just now.
    pub fn failed(self, failure: Failure) -> StepRecord {
        self.record(AttemptOutcome::Failed, Some(failure))
    }

    fn record(self, outcome: AttemptOutcome, failure: Option<Failure>) -> StepRecord {
        let duration = self.elapsed();
        StepRecord { step: None, started: self.started, duration, outcome, failure, output: None }
    }
}

/// A record of the history: an attempt, or one step of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct StepRecord {
    /// The step's name, if an attempt has several.
    pub step: Option<String>,
    /// The time at which it started.
    pub started: Timestamp,
    /// The time that it took.
    pub duration: Duration,
    /// The outcome.
    pub outcome: AttemptOutcome,
    /// The failure.
    pub failure: Option<Failure>,
    /// The end of what it printed, if it succeeded:
    /// [`AttemptRecord::output`](crate::store::AttemptRecord::output).
    pub output: Option<String>,
}

impl StepRecord {
    retry_rules::accessors! {
        /// Sets the name of the step.
        #[must_use]
        pub fn step(self, name: impl Into<String>) -> Self { step: Some(name.into()) }

        /// Sets the end of what the step printed. The history stores it as given: limit its size
        /// and remove secrets first.
        #[must_use]
        pub fn output(self, printed: impl Into<String>) -> Self { output: Some(printed.into()) }
    }
}

/// The outcome of an attempt.
#[derive(Debug)]
#[non_exhaustive]
pub enum WorkOutcome {
    /// The item is done. Its output, if it has one, is stored with it:
    /// [`ItemRecord::output`](crate::ItemRecord::output).
    Succeeded(Option<String>),
    /// The attempt failed, and another one follows.
    Retry {
        /// The wait before the next attempt. The wait is a due time in the store: it outlives the
        /// process.
        wait: Duration,
        /// The state for the next attempt: [`WorkItem::checkpoint`]. JSON; an item
        /// whose checkpoint is anything else fails.
        checkpoint: String,
    },
    /// The item is skipped, for this reason. After a re-drive from the failed step, it continues
    /// where this attempt began, or at [`resume_from`](AttemptReport::resume_from).
    Skipped(Failure),
    /// The attempt is not ready, and comes back later without using up an attempt: its number is
    /// used again, and no limit, breaker or budget of the job counts it. If the last record of the
    /// report is a failure, it says why; the history has one row for all such records in a row.
    Postponed {
        /// The wait before the next attempt.
        wait: Duration,
        /// The state for the next attempt: [`WorkItem::checkpoint`]. JSON; an item
        /// whose checkpoint is anything else fails. `None`: what this attempt got.
        checkpoint: Option<String>,
    },
    /// The attempt failed, but uses up none: as after `Postponed`, its number is used again, and
    /// the history has one row for all such failures in a row. The breaker of the job counts it.
    Uncounted {
        /// The wait before the next attempt.
        wait: Duration,
        /// The state for the next attempt, as in `Postponed`.
        checkpoint: Option<String>,
    },
    /// The attempt was cut off because this process is about to stop: the item is put back as if it
    /// had not been claimed. Its last checkpoint stays, and nothing of this attempt is recorded.
    Released,
    /// The attempt could not begin, because this machine lacks the resources, such as descriptors
    /// or processes: the item is put back for a second, and this process runs fewer items at the
    /// same time. The job reports [`JobEvent::NotBegun`](crate::JobEvent::NotBegun) once. If
    /// nothing can begin for a minute, it stops.
    NotBegun {
        /// The missing resource, such as a descriptor.
        why: String,
        /// The checkpoint for the next attempt, as in `Retry`, if this one has come to a point from
        /// which another one continues. Without it, the last checkpoint stays, and the attempt is
        /// not counted.
        checkpoint: Option<String>,
    },
    /// The item has failed for good. The [`ErrorPolicy`](crate::ErrorPolicy) decides what becomes
    /// of it.
    Failed {
        /// The failure.
        failure: Failure,
        /// The reason why it is not retried. The job's breaker counts a
        /// [`NotRetryable`](Reason::NotRetryable) failure neither as good nor as bad.
        reason: Reason,
    },
}
