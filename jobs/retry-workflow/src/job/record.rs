//! [`Job`]: what a store knows about a job besides its items.

mod ending;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::item::alteration::Waiting;
use crate::item::clock::Timestamp;
use crate::item::failure::{CANCELLED, Failure};
use crate::item::lease::{Lease, Selection, Settled, Settlement};
use crate::item::record::{Counts, Cursor, Filter, Page};
use crate::item::sanitize::OneLine;
use crate::item::summary::JobRow;
use crate::job::breaker_record::BreakerRecord;
use crate::job::dependencies::Dependencies;
use crate::job::error::WorkflowError;
use crate::job::name::{self, InvalidName};
use crate::job::rate_record::RateRecord;
use crate::job::worker_record::WorkerRecord;
use crate::store::{Alteration, Store, StoreError, StoreFuture};

/// The record of a job in a store, without its items.
///
/// ```
/// # use retry_workflow::{Job, JobStatus, SqliteStore};
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteStore::in_memory();
/// let job = Job::create(&store, "import", None).await?;
/// assert_eq!((job.id.as_str(), job.status), ("import-1", JobStatus::Running));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Job {
    /// Its id: its name and a number, unless it was given.
    pub id: String,
    /// The name of the workflow.
    pub name: String,
    /// Its status.
    pub status: JobStatus,
    /// The time at which it began.
    pub created: Timestamp,
    /// The time at which it last ended or stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// The number of times that it has ended or stopped.
    #[serde(default)]
    pub(crate) ends: u64,
    /// Set if its input has been read to the end, so that the store has all of it.
    pub input_complete: bool,
    /// `true` if the rest of its input was not read, because it was too late for it:
    /// [`Job::cut_short`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut_short: bool,
    /// No item begins before this time, if one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// The rule by which its items get their ids: [`Source::id_rule`](crate::Source::id_rule).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) id_rule: Option<String>,
    /// The limits by key that it ran with last. Items may wait for them in the store.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) limits: Vec<String>,
    /// The counts of ended and failed items when it was last resumed after a stop: thresholds count
    /// from here.
    #[serde(default)]
    pub(crate) baseline: Baseline,
    /// Whatever the program that resumes it needs to know, in its own format. The command
    /// `retry-workflow` keeps the path of the workflow file here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Value>,
    /// The last request to its workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requested: Option<PendingRequest>,
    /// The workers that are working on it, or were killed while doing so.
    #[doc(hidden)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerRecord>,
}

/// A request to the workers of a job, by anyone with access to its store.
///
/// ```
/// # use retry_workflow::job::Request;
/// # use retry_workflow::{Job, SqliteStore};
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteStore::in_memory();
/// Job::create(&store, "import", None).await?;
/// Job::request(&store, "import-1", Request::Pause).await?;
/// assert_eq!(Request::Pause.as_str(), "pause");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Request {
    /// Stop, so that the job can be resumed.
    Pause,
    /// Stop, so that the rest can be [skipped](Job::cancel).
    Cancel,
}

/// A request to the workers that a job had when it was made. It does not affect a process that
/// resumes the job later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PendingRequest {
    /// The request.
    pub request: Request,
    /// The time of the request, by the store's clock.
    pub at: Timestamp,
}

impl Request {
    /// Returns the name of the request.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Cancel => "cancel",
        }
    }

    /// Returns why a job stops after this request.
    pub(crate) const fn reason(self) -> StopReason {
        match self {
            Self::Pause => StopReason::Paused,
            Self::Cancel => StopReason::Cancelled,
        }
    }
}

/// Items that thresholds do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Baseline {
    pub(crate) ended: u64,
    pub(crate) failed: u64,
}

/// The status of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
#[non_exhaustive]
pub enum JobStatus {
    /// A process is working on it, or was killed while doing so.
    Running,
    /// Every item has ended.
    Finished,
    /// It stopped before its end, and can be resumed.
    Stopped {
        /// The reason.
        reason: StopReason,
    },
}

impl JobStatus {
    /// Returns the status as stores and exports write it, such as `stopped`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Stopped { .. } => "stopped",
        }
    }
}

/// The reason why a job stopped before its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "stopped_by")]
#[non_exhaustive]
pub enum StopReason {
    /// An item failed, and `continue_on_failure` is false.
    FirstFailure,
    /// `max_failures` items failed.
    MaxFailures {
        /// The limit.
        max_failures: u64,
    },
    /// A larger share of items failed than `failure_threshold` allows.
    FailureThreshold {
        /// The limit.
        #[serde(deserialize_with = "float")]
        failure_threshold: f64,
        /// Items that failed.
        failed: u64,
        /// Items that had ended.
        ended: u64,
    },
    /// An item failed, and its failure stops the job.
    Item {
        /// The item.
        item: String,
        /// The failure.
        message: String,
    },
    /// The breaker opened, and `on_open` is `stop`.
    BreakerOpen,
    /// It was asked to stop.
    Requested,
    /// It was [requested](Job::request) to pause.
    Paused,
    /// It was [requested](Job::request) to stop, to be cancelled.
    Cancelled,
    /// It ran for as long as it was allowed to.
    Deadline,
    /// For a minute, no item could begin, because the machine lacks the resources.
    NothingBegins {
        /// The missing resource, such as a descriptor.
        why: String,
    },
    /// Its source failed.
    Input {
        /// The failure.
        message: String,
    },
    /// Its workers were killed, and could not store how far they were.
    WorkersGone,
    /// It was resumed from the store, and no process had read its input to the end.
    InputIncomplete,
    /// It had finished, and items were re-driven or imported since.
    Reopened,
}

impl StopReason {
    /// The reason of a job whose source failed: the first line of the error, because an error may
    /// show a part of a file below.
    pub(crate) fn input(error: &WorkflowError) -> Self {
        let whole = match error {
            WorkflowError::Input(error) => format!("{error:#}"),
            other => other.to_string(),
        };
        Self::Input { message: whole.lines().next().unwrap_or_default().to_owned() }
    }
}

/// Reads a number inside a value with a tag. If the program keeps all digits of JSON numbers
/// (`arbitrary_precision` of `serde_json`), it is not an `f64` there.
fn float<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = serde_json::Number::deserialize(deserializer)?;
    number.as_f64().ok_or_else(|| D::Error::custom(format!("{number} is too large")))
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstFailure => f.write_str("an item failed, and `continue_on_failure` is false"),
            Self::MaxFailures { max_failures } => {
                write!(f, "the limit `max_failures: {max_failures}` was reached")
            }
            Self::FailureThreshold { failure_threshold, failed, ended } => write!(
                f,
                "{failed} of {ended} items failed, which is more than the `failure_threshold` of \
                 {failure_threshold}"
            ),
            Self::Item { item, message } => {
                write!(f, "`{}` failed: {}", OneLine(item), OneLine(message))
            }
            Self::BreakerOpen => f.write_str("the circuit breaker opened, and `on_open` is `stop`"),
            Self::Requested => f.write_str("it was requested to stop"),
            Self::Paused => f.write_str("it was paused"),
            Self::Cancelled => f.write_str("it was cancelled"),
            Self::Deadline => f.write_str("its deadline was reached"),
            Self::NothingBegins { why } => {
                write!(f, "nothing could begin for a minute: {}", OneLine(why))
            }
            Self::Input { message } => {
                write!(f, "its items cannot be read: {}", OneLine(message))
            }
            Self::WorkersGone => f.write_str("the process that worked on it is gone"),
            Self::InputIncomplete => f.write_str(
                "everything in the store is done, but its input was never read to the end: run it \
                 with its items to add the rest",
            ),
            Self::Reopened => {
                f.write_str("it had finished, and items were re-driven or imported since")
            }
        }
    }
}

impl Job {
    pub(crate) fn key(id: &str) -> String {
        format!("{PREFIX}{id}")
    }

    pub(crate) fn json(&self) -> Result<String, StoreError> {
        serde_json::to_string(self).map_err(StoreError::other)
    }

    fn new(id: String, name: &str, origin: Option<Value>, now: Timestamp) -> Self {
        Self {
            id,
            name: name.to_owned(),
            status: JobStatus::Running,
            created: now,
            ended: None,
            ends: 0,
            input_complete: false,
            is_cut_short: false,
            not_before: None,
            id_rule: None,
            limits: Vec::new(),
            baseline: Baseline::default(),
            origin,
            requested: None,
            workers: Vec::new(),
        }
    }

    /// Creates a job whose id is its name and the next free number. Pass it to
    /// [`job_id`](crate::JobRunner::job_id) to run it.
    ///
    /// `origin` is for the program that resumes it: see [`Job::origin`].
    ///
    /// ```
    /// # use retry_workflow::{Job, SqliteStore, Workflow};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let job = Job::create(&store, "import", None).await?;
    /// let report = Workflow::new("import")
    ///     .store(store)
    ///     .job_id(&job.id)
    ///     .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
    ///     .await?;
    /// assert_eq!(report.job.id, "import-1");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store fails.
    pub async fn create(
        store: &dyn Store,
        name: &str,
        origin: Option<Value>,
    ) -> Result<Self, StoreError> {
        let new = Self::new(String::new(), name, origin, store.now());
        find_or_insert(store, &Self::key(name), move |jobs| Ok(new.numbered(jobs))).await
    }

    /// Returns the job with this id, if there is one.
    ///
    /// ```
    /// # use retry_workflow::{Job, SqliteStore};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let job = Job::create(&store, "import", None).await?;
    /// assert!(Job::find(&store, "import-1").await?.is_some());
    /// assert!(Job::find(&store, "export-1").await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn find(store: &dyn Store, id: &str) -> Result<Option<Self>, StoreError> {
        Ok(read(store, id).await?.map(|(_, job)| job))
    }

    /// Returns the job with this id, or an error that names the existing ones.
    ///
    /// ```
    /// # use retry_workflow::{Job, SqliteStore};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let job = Job::create(&store, "import", None).await?;
    /// let unknown = Job::get(&store, "import-2").await.unwrap_err();
    /// assert!(unknown.to_string().contains("import-1"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read, or has no such job.
    pub async fn get(store: &dyn Store, id: &str) -> Result<Self, WorkflowError> {
        if let Some(job) = Self::find(store, id).await? {
            return Ok(job);
        }
        let mut known: Vec<_> = Self::all(store).await?.into_iter().map(|job| job.id).collect();
        known.reverse();
        Err(WorkflowError::UnknownJob { id: id.to_owned(), known })
    }

    /// Returns all jobs of a store, the oldest first.
    ///
    /// ```
    /// # use retry_workflow::{Job, SqliteStore};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let job = Job::create(&store, "import", None).await?;
    /// assert_eq!(Job::all(&store).await?.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn all(store: &dyn Store) -> Result<Vec<Self>, StoreError> {
        let mut jobs = parse_all(&store.values(PREFIX).await?)?;
        jobs.sort_by_key(|job| job.created);
        Ok(jobs)
    }

    /// Returns jobs with their counts, the newest first: the first `max` after `after`. Records
    /// that this version cannot read are left out. The status of each job is the one
    /// [with its counts](Self::status_with), now.
    ///
    /// ```
    /// use retry_workflow::{Job, SqliteStore};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let store = SqliteStore::in_memory();
    /// for _ in 0..3 {
    ///     Job::create(&store, "import", None).await.unwrap();
    /// }
    /// let page = Job::page(&store, None, 2).await.unwrap();
    /// let ids: Vec<_> = page.items.iter().map(|(job, _)| job.id.as_str()).collect();
    /// assert_eq!(ids, ["import-3", "import-2"]);
    /// let last = Job::page(&store, page.next, 2).await.unwrap();
    /// assert_eq!((last.items.len(), last.next), (1, None));
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn page(
        store: &dyn Store,
        after: Option<Cursor>,
        max: usize,
    ) -> Result<Page<(Self, Counts)>, StoreError> {
        let Page { items, next } = store.jobs(after, max).await?;
        let now = store.now();
        let job = |row: JobRow| {
            let mut job: Self = serde_json::from_str(&row.record?).ok()?;
            job.status = job.status_with(&row.counts, now);
            Some((job, row.counts))
        };
        Ok(Page { items: items.into_iter().filter_map(job).collect(), next })
    }

    /// The last unfinished job of a workflow, or a new one.
    pub(crate) async fn find_unfinished_or_create(
        store: &dyn Store,
        name: &str,
    ) -> Result<Self, StoreError> {
        let reopened = Self::reopened(store, name).await?;
        let new = Self::new(String::new(), name, None, store.now());
        find_or_insert(store, PREFIX, move |jobs| {
            let is_unfinished =
                |job: &Self| job.status != JobStatus::Finished || reopened.contains(&job.id);
            let unfinished = parse_all(jobs)?
                .into_iter()
                .filter(|job| job.name == new.name && is_unfinished(job))
                .max_by_key(|job| job.created);
            Ok(unfinished.unwrap_or_else(|| new.numbered(jobs)))
        })
        .await
    }

    /// The ids of the jobs of a workflow that have items to do although they have finished.
    async fn reopened(store: &dyn Store, name: &str) -> Result<BTreeSet<String>, StoreError> {
        let mut reopened = BTreeSet::new();
        let mut after = None;
        loop {
            let page = Self::page(store, after, JOBS_AT_ONCE).await?;
            let jobs = page.items.into_iter().filter(|(job, _)| job.name == name);
            reopened.extend(jobs.filter_map(|(job, counts)| {
                let is_open = counts.unfinished() > 0;
                is_open.then_some(job.id)
            }));
            after = page.next;
            if after.is_none() {
                return Ok(reopened);
            }
        }
    }

    /// Returns its status at a time, given the counts of its items: a job that has finished is
    /// stopped once items of it are pending again, because they were re-driven or imported, and so
    /// is a running one whose workers were killed.
    ///
    /// ```
    /// # use retry_workflow::{DeadLetters, Filter, Job, JobStatus, SqliteStore, Redrive, Store, StopReason, Workflow};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let import = Workflow::new("import").store(store.clone());
    /// import.run([1], |_: u32, _| async { Err::<(), _>("no stock") }).await?;
    /// let job = Job::get(&store, "import-1").await?;
    /// let counts = store.counts(&job.id).await?;
    /// assert_eq!(job.status_with(&counts, store.now()), JobStatus::Finished);
    ///
    /// DeadLetters::new(store.clone()).retry(&[Filter::job(&job.id)], Redrive::new()).await?;
    /// let reopened = JobStatus::Stopped { reason: StopReason::Reopened };
    /// let counts = store.counts(&job.id).await?;
    /// assert_eq!(job.status_with(&counts, store.now()), reopened);
    /// # Ok(())
    /// # }
    /// ```
    pub fn status_with(&self, counts: &Counts, now: Timestamp) -> JobStatus {
        match &self.status {
            JobStatus::Finished if counts.unfinished() > 0 => {
                JobStatus::Stopped { reason: StopReason::Reopened }
            }
            JobStatus::Running if !self.workers.is_empty() && !self.is_live(now) => {
                JobStatus::Stopped { reason: StopReason::WorkersGone }
            }
            status => status.clone(),
        }
    }

    /// Chooses one of all jobs by its id, or creates a job as [`create`](Self::create) does, in one
    /// step: one of several concurrent callers creates it, and the others can choose it. If no job
    /// has the chosen id, the new one gets it. Returns the job, and whether it is new.
    ///
    /// A new job belongs to this process until `until`: it has a `WorkerRecord` in `Job::workers`
    /// before it runs.
    ///
    /// # Errors
    /// The store fails.
    #[doc(hidden)]
    pub async fn choose_or_create(
        store: &dyn Store,
        name: &str,
        origin: Option<Value>,
        until: Timestamp,
        mut choose: impl FnMut(&[Self]) -> Option<String> + Send + 'static,
    ) -> Result<(Self, bool), StoreError> {
        let mut new = Self::new(String::new(), name, origin, store.now());
        new.workers.push(WorkerRecord::new("", until));
        let mine = new.workers.clone();
        let is_new = Arc::new(AtomicBool::new(false));
        let created = Arc::clone(&is_new);
        let job = find_or_insert(store, PREFIX, move |found| {
            let mut jobs = parse_all(found)?;
            jobs.sort_by_key(|job| job.created);
            let id = choose(&jobs);
            let chosen = jobs.into_iter().find(|job| Some(&job.id) == id.as_ref());
            created.store(chosen.is_none(), Ordering::Release);
            Ok(chosen.unwrap_or_else(|| match id {
                Some(id) => Self { id, ..new.clone() },
                None => new.numbered(found),
            }))
        })
        .await?;
        let is_new = is_new.load(Ordering::Acquire) && job.workers == mine;
        Ok((job, is_new))
    }

    /// Records in a job that this process is about to work on it, and by when it will have started;
    /// returns `false` if it already has a worker.
    ///
    /// # Errors
    /// The store fails.
    #[doc(hidden)]
    pub async fn reserve(
        store: &dyn Store,
        id: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let reserved = Self::update(store, id, |job| {
            let is_free = !job.is_live(now);
            if is_free {
                job.workers.push(WorkerRecord::new("", until));
            }
            is_free
        });
        Ok(reserved.await?.unwrap_or(false))
    }

    /// Removes a [reservation](Self::reserve) of this process, which is not going to work on the
    /// job.
    ///
    /// # Errors
    /// The store fails.
    #[doc(hidden)]
    pub async fn cancel_reservation(store: &dyn Store, id: &str) -> Result<(), StoreError> {
        Self::update(store, id, |job| {
            job.workers.retain(|it| !(it.worker.is_empty() && it.is_of_this_process()));
        })
        .await
        .map(drop)
    }

    /// Checks whether a text can be the name of a job.
    ///
    /// ```
    /// use retry_workflow::job::InvalidName;
    /// use retry_workflow::Job;
    ///
    /// assert!(Job::check_name("import").is_ok());
    /// assert_eq!(Job::check_name(" "), Err(InvalidName::Empty));
    /// ```
    ///
    /// # Errors
    /// It is empty, or contains a control character.
    pub fn check_name(name: &str) -> Result<(), InvalidName> {
        name::check(name)
    }

    /// Returns `true` if it has a live worker, as far as this process can detect.
    ///
    /// ```
    /// # use retry_workflow::{Job, SqliteStore, Store};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let job = Job::create(&store, "import", None).await?;
    /// assert!(!job.is_live(store.now()), "it has no worker");
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.workers.iter().any(|worker| worker.is_live(now))
    }

    /// Records that the rest of the input of a job is not read any more, because it is too late for
    /// it: the job ends with the items that the store has.
    ///
    /// ```
    /// # use retry_workflow::{Job, SqliteStore, Workflow};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let job = Job::create(&store, "import", None).await?;
    /// Job::cut_short(&store, "import-1").await?;
    /// let import = Workflow::new("import").store(store.clone());
    /// let report = import.resume("import-1", |_: u32, _| async { Ok::<_, String>(()) }).await?;
    /// assert!(report.is_late() && !report.is_success());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store fails.
    pub async fn cut_short(store: &dyn Store, id: &str) -> Result<(), StoreError> {
        Self::update(store, id, |job| {
            job.is_cut_short |= !job.input_complete;
            job.input_complete = true;
        })
        .await
        .map(drop)
    }

    /// Returns the request to its live workers that has not been carried out yet.
    pub fn requested(&self, now: Timestamp) -> Option<PendingRequest> {
        self.requested.filter(|_| self.is_live(now))
    }

    /// Returns the job with this id, or creates it with this name and [`origin`](Self::origin).
    ///
    /// ```
    /// # use retry_workflow::{Job, SqliteStore};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let new = Job::find_or_create(&store, "import-2026-11-22", "import", None).await?;
    /// let known = Job::find_or_create(&store, "import-2026-11-22", "import", None).await?;
    /// assert_eq!(new, known);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store fails.
    pub async fn find_or_create(
        store: &dyn Store,
        id: &str,
        name: &str,
        origin: Option<Value>,
    ) -> Result<Self, StoreError> {
        let new = Self::new(id.to_owned(), name, origin, store.now());
        find_or_insert(store, &Self::key(id), move |_| Ok(new.clone())).await
    }

    /// This job, with the next number after its name that none of these jobs has.
    fn numbered(&self, jobs: &[(String, String)]) -> Self {
        let id = |number: u64| format!("{}-{number}", self.name);
        let prefix = Self::key(&format!("{}-", self.name));
        let numbers = jobs.iter().filter_map(|(key, _)| key.strip_prefix(&prefix)?.parse().ok());
        // Ignores a job that was given an id with a number above `u32::MAX`.
        let last = numbers.max().map_or(0, |last: u32| last.into());
        let is_free = |number: &u64| jobs.iter().all(|(key, _)| *key != Self::key(&id(*number)));
        let number = (last + 1..u64::MAX).find(is_free).unwrap_or(u64::MAX);
        Self { id: id(number), ..self.clone() }
    }

    /// Creates the record of a job whose items were imported, unless it exists.
    pub(crate) async fn adopt(store: &dyn Store, id: &str) -> Result<(), StoreError> {
        let mut job = Self::new(id.to_owned(), id, None, store.now());
        job.status = JobStatus::Finished;
        job.ended = Some(job.created);
        job.input_complete = true;
        // An existing record stays as it is.
        write(store, 0, &job).await.map(drop)
    }

    /// Sets the [`origin`](Self::origin) of a job. Nothing happens if the job does not exist.
    ///
    /// # Errors
    /// The store fails.
    pub async fn set_origin(
        store: &dyn Store,
        id: &str,
        origin: Option<&Value>,
    ) -> Result<(), StoreError> {
        Self::update(store, id, |job| job.origin = origin.cloned()).await.map(drop)
    }

    /// Sends a request to the workers of a job. Each carries it out within seconds: nothing more is
    /// started, and running items finish. It does not affect a process that resumes the job later.
    /// Returns `false` if the job does not exist, or has no worker.
    ///
    /// ```
    /// # use retry_workflow::job::Request;
    /// # use retry_workflow::{Job, SqliteStore};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let job = Job::create(&store, "import", None).await?;
    /// let has_worker = Job::request(&store, "import-1", Request::Pause).await?;
    /// assert!(!has_worker);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store fails.
    pub async fn request(
        store: &dyn Store,
        id: &str,
        request: Request,
    ) -> Result<bool, StoreError> {
        let now = store.now();
        if !Self::find(store, id).await?.is_some_and(|job| job.is_live(now)) {
            return Ok(false);
        }
        let requested = Some(PendingRequest { request, at: now });
        Self::update(store, id, |job| job.requested = requested).await?;
        Ok(true)
    }

    /// Cancels the rest of a job without workers: items that have not ended are skipped,
    /// with a failure of class `cancelled`, and the job is finished. Returns how many items were
    /// skipped. The leases of dead workers end at once; items that another worker still holds are
    /// left to it.
    ///
    /// ```
    /// # use retry_workflow::store::NewItem;
    /// # use retry_workflow::{Job, SqliteStore, Store};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let job = Job::create(&store, "import", None).await?;
    /// store.enqueue("import-1", vec![NewItem::new("17", "{}")], store.now()).await?;
    /// assert_eq!(Job::cancel(&store, "import-1").await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store fails.
    pub async fn cancel(store: &dyn Store, id: &str) -> Result<u64, StoreError> {
        let why = Failure::new(CANCELLED, "the job was cancelled");
        let of_job = Filter::job(id);
        let workers = Self::find(store, id).await?.map_or_else(Vec::new, |job| job.workers);
        let dead: Vec<_> = workers.into_iter().filter(WorkerRecord::is_dead).collect();
        WorkerRecord::end_leases(store, id, &dead).await?;
        let skip = || Alteration::Skip(why.clone());
        let mut all = in_batches(|| store.alter(&of_job, skip(), AT_ONCE, store.now())).await?;
        // Items with an expired lease are left. A claim writes the attempts that were lost.
        for selection in [Selection::Items { max: AT_ONCE, starts: 0 }, Selection::Suspect] {
            loop {
                let now = store.now();
                let left = store.claim(id, "cancel", now, selection, SKIP_LEASE).await?;
                let skip = |lease: Lease| {
                    Settlement::new(
                        lease.key,
                        Settled::Skipped {
                            failure: Some(why.clone()),
                            checkpoint: lease.checkpoint,
                        },
                        Vec::new(),
                    )
                };
                let skipped: Vec<_> = left.into_iter().map(skip).collect();
                if skipped.is_empty() {
                    break;
                }
                let skipped = store.settle(skipped, Vec::new(), store.now()).await?;
                let skipped = skipped.into_iter().filter(|is_skipped| *is_skipped).count();
                all = all.saturating_add(u64::try_from(skipped).unwrap_or(u64::MAX));
            }
        }
        let now = store.now();
        Self::update(store, id, |job| {
            job.workers.retain(|worker| worker.is_live(now));
            job.status = JobStatus::Finished;
            job.ended = Some(now);
            // The input is not going to be read any more.
            job.input_complete = true;
        })
        .await?;
        Ok(all)
    }

    /// Makes items of a job due now that wait for their next attempt, as after an outage, and
    /// returns how many. Attempts and budgets stay as they are. What the job as a whole waits for
    /// still applies: its beginning, its breaker, its limits.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use retry_workflow::store::NewItem;
    /// # use retry_workflow::{Job, SqliteStore, Store};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let in_an_hour = store.now() + Duration::from_secs(3_600);
    /// store.enqueue("import-1", vec![NewItem::new("17", "{}")], in_an_hour).await?;
    /// assert_eq!(Job::make_due(&store, "import-1").await?, 1);
    /// assert!(store.overview("import-1", 0).await?.next_due <= Some(store.now()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store fails.
    pub async fn make_due(store: &dyn Store, id: &str) -> Result<u64, StoreError> {
        let (of_job, due) = (Filter::job(id), || Alteration::MakeDue(Waiting::All));
        in_batches(|| store.alter(&of_job, due(), AT_ONCE, store.now())).await
    }

    /// Removes a job for good, with its items, its dead letters and their histories, and returns
    /// how many items it had. `also` has the keys of values that a program keeps for the job.
    ///
    /// Its workers lose their leases. If this is interrupted, the job still exists with fewer
    /// items; remove it again.
    ///
    /// ```
    /// # use retry_workflow::{Job, SqliteStore};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let job = Job::create(&store, "import", None).await?;
    /// Job::remove(&store, "import-1", []).await?;
    /// assert!(Job::all(&store).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store fails.
    pub async fn remove(
        store: &dyn Store,
        id: &str,
        also: impl IntoIterator<Item = String>,
    ) -> Result<u64, StoreError> {
        let mut keys: Vec<_> = also.into_iter().collect();
        keys.extend([Self::key(id), BreakerRecord::key(id)]);
        keys.extend([RateRecord::by_key(id), Dependencies::key(id), Self::end_key(id)]);
        let of_keys = store.values(&RateRecord::keys_prefix(id)).await?;
        keys.extend(of_keys.into_iter().map(|(key, _)| key));
        in_batches(|| store.remove(id, AT_ONCE, keys.clone())).await
    }

    /// Changes the stored record, and retries if another process changes it at the same time.
    /// Returns the result of the change; `None` if the job does not exist.
    pub(crate) async fn update<T>(
        store: &dyn Store,
        id: &str,
        change: impl Fn(&mut Self) -> T,
    ) -> Result<Option<T>, StoreError> {
        while let Some((revision, mut job)) = read(store, id).await? {
            let changed = change(&mut job);
            if write(store, revision, &job).await? {
                return Ok(Some(changed));
            }
        }
        Ok(None)
    }
}

const PREFIX: &str = "job/";

/// The number of jobs that are read at once.
const JOBS_AT_ONCE: usize = 500;

/// The number of items in one transaction, so that other writers do not wait for long.
const AT_ONCE: usize = 5_000;

/// The lease of an item that is being skipped.
const SKIP_LEASE: Duration = Duration::from_secs(30);

/// Changes [`AT_ONCE`] items at a time until there are fewer, and returns how many there were.
async fn in_batches<'a>(change: impl Fn() -> StoreFuture<'a, u64>) -> Result<u64, StoreError> {
    let mut all = 0_u64;
    loop {
        let changed = change().await?;
        all = all.saturating_add(changed);
        if changed < AT_ONCE as u64 {
            return Ok(all);
        }
    }
}

/// Finds the job that `choose` picks from the values with this key prefix, or adds the one that it
/// returns.
async fn find_or_insert(
    store: &dyn Store,
    prefix: &str,
    mut choose: impl FnMut(&[(String, String)]) -> Result<Job, StoreError> + Send + 'static,
) -> Result<Job, StoreError> {
    let choose =
        move |jobs: &[_]| choose(jobs).and_then(|job| Ok((Job::key(&job.id), job.json()?)));
    let (key, text) = store.find_or_insert(prefix, Box::new(choose)).await?;
    parse(&key, &text)
}

fn parse_all(jobs: &[(String, String)]) -> Result<Vec<Job>, StoreError> {
    jobs.iter().map(|(key, text)| parse(key, text)).collect()
}

fn parse(key: &str, text: &str) -> Result<Job, StoreError> {
    let id = key.strip_prefix(PREFIX).unwrap_or(key);
    serde_json::from_str(text).map_err(|error| {
        let id = OneLine(id);
        StoreError::other(format!("cannot read its record of the job `{id}`: {error}"))
    })
}

async fn read(store: &dyn Store, id: &str) -> Result<Option<(u64, Job)>, StoreError> {
    let key = Job::key(id);
    let Some((revision, text)) = store.get(&key).await? else { return Ok(None) };
    Ok(Some((revision, parse(&key, &text)?)))
}

async fn write(store: &dyn Store, revision: u64, job: &Job) -> Result<bool, StoreError> {
    store.cas_json(&Job::key(&job.id), revision, job).await
}
