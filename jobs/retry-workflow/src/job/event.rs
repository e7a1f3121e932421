//! [`JobEvent`]: what a job reports while it runs.

use std::sync::Arc;
use std::time::Duration;

use retry_runtime::Transition;
use serde::Serialize;

use crate::item::context::ItemContext;
use crate::item::failure::Failure;
use crate::item::json::seconds;
use crate::item::record::{AttemptRecord, Counts, ItemState};
use crate::job::rate::Rate;
use crate::job::record::StopReason;
use crate::job::worker_record::Throttle;

/// An item whose retries have ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ItemFailure {
    /// The job.
    pub job: Arc<str>,
    /// The item.
    pub item: String,
    /// The id that follows it through the logs of other systems, if it has its own.
    pub correlation: Option<String>,
    /// Its payload: JSON.
    pub payload: String,
    /// The run.
    pub run: u32,
    /// The number of attempts that the run made.
    pub attempt: u32,
    /// The worker that made the last one.
    pub worker: Arc<str>,
    /// The failure.
    pub failure: Failure,
    /// The state that it gets: [`Dead`](ItemState::Dead), [`Skipped`](ItemState::Skipped), or
    /// [`Pending`](ItemState::Pending) if it is put back.
    pub state: ItemState,
}

impl ItemFailure {
    /// Returns the context of the last attempt.
    pub fn context(&self) -> ItemContext {
        ItemContext {
            job: Arc::clone(&self.job),
            id: self.item.clone(),
            correlation: self.correlation.clone(),
            run: self.run,
            attempt: self.attempt,
            worker: Arc::clone(&self.worker),
            retries: 0,
            postponed: None,
        }
    }
}

/// The cause for which a worker starts no item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[non_exhaustive]
pub enum WaitReason {
    /// For the next item that is due: it is between two attempts.
    #[non_exhaustive]
    Due {
        /// The time until then.
        #[serde(with = "seconds")]
        wait: Duration,
    },
    /// For other workers: they hold all remaining items, until they stop renewing their leases.
    #[non_exhaustive]
    Lease {
        /// The rest of the first of their leases.
        #[serde(with = "seconds")]
        wait: Duration,
    },
    /// For the workflow's breaker, which is open or holds items.
    #[non_exhaustive]
    Breaker {
        /// The time for which it stays open.
        #[serde(with = "seconds")]
        wait: Duration,
    },
    /// For its start: it has [`not_before`](crate::JobRunner::not_before) or
    /// [`start_when`](crate::JobRunner::start_when).
    #[non_exhaustive]
    Start {
        /// The shortest time until then.
        #[serde(with = "seconds")]
        wait: Duration,
    },
    /// For its [`rate`](crate::JobRunner::rate): the next item starts then.
    #[non_exhaustive]
    Rate {
        /// The rate.
        limit: Rate,
        /// The time until then.
        #[serde(with = "seconds")]
        wait: Duration,
    },
    /// For running handlers of this process to end: an item that may have killed its workers must
    /// run alone.
    Alone,
    /// For this worker to have lived for 5 s: it runs such an item only then. So processes that are
    /// killed one soon after the other blame no item.
    #[non_exhaustive]
    NewWorker {
        /// The time until then.
        #[serde(with = "seconds")]
        wait: Duration,
    },
    /// For such an item to end, which is running alone.
    Suspect,
    /// For another job of this process, which runs such an item, or is about to.
    OtherJob,
    /// For resources: an item could not begin
    /// ([`WorkOutcome::NotBegun`](crate::work::WorkOutcome::NotBegun)), and is tried again soon.
    Resources,
    /// For running handlers to end, because fewer than `max_parallel` may run: a service has
    /// rejected items ([`slow_down_on`](crate::JobRunner::slow_down_on)), or the machine lacks the
    /// resources.
    Throttled(Throttle),
    /// For running handlers to end, after which this worker stops.
    Stop,
}

/// Something that happened to a job; see [`Workflow::on_event`](crate::Workflow::on_event).
///
/// ```
/// # use retry_workflow::{JobEvent, Workflow};
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let workflow = Workflow::new("import").on_event(|event| match event {
///     JobEvent::Progress { counts, .. } => println!("{} of {}", counts.ended(), counts.total()),
///     JobEvent::Failures(failures) => println!("{} items failed", failures.len()),
///     _ => {}
/// });
/// workflow.run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) }).await?;
/// # Ok(())
/// # }
/// ```
///
/// An event is serialized as a map with its name as `event`, and with durations in seconds;
/// `Failures` and `Breaker` cannot be serialized.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum JobEvent<'a> {
    /// Work begins, on a new job or on one that another process began.
    #[non_exhaustive]
    Started {
        /// The job's id.
        job: &'a str,
        /// The job's counts in the store.
        counts: Counts,
    },
    /// The progress of the job: about once a second, and at its end.
    #[non_exhaustive]
    Progress {
        /// The job's counts in the store.
        counts: Counts,
        /// Set if its input has been read to the end.
        input_complete: bool,
        /// Handlers that are running in this process.
        running: usize,
        /// The time for which the breaker stays open or holds items; zero if it does not.
        #[serde(with = "seconds")]
        open_for: Duration,
        /// The cause for which this worker starts no item, if it waits.
        waits_for: Option<WaitReason>,
    },
    /// The input of a job that had items before has been read to the end, if its source gives all
    /// items again: see [`Source::id_rule`](crate::Source::id_rule).
    #[non_exhaustive]
    Input {
        /// Items that were new.
        new: u64,
        /// Items that the job had already.
        known: u64,
        /// Known items whose payload in the job differs.
        changed: u64,
        /// Items of the job that the input no longer has.
        gone: u64,
    },
    /// An attempt has ended and is in the store, or a step of one has failed on the way. Attempts
    /// that were lost with their worker are only in the store. Each postponed attempt is an event
    /// of its own, although the history has one row for all of them.
    #[non_exhaustive]
    Attempt {
        /// The job's id.
        job: &'a str,
        /// The item's id.
        item: &'a str,
        /// Its row in the history.
        #[serde(flatten)]
        attempt: &'a AttemptRecord,
        /// The final state of the item, if this was its end.
        #[serde(skip_serializing_if = "Option::is_none")]
        state: Option<ItemState>,
    },
    /// Items have failed for good: one at a time, or in groups, as the policy's `error_collection`
    /// says.
    #[serde(skip)]
    Failures(&'a [ItemFailure]),
    /// The workflow's breaker changed state.
    #[serde(skip)]
    Breaker(&'a Transition),
    /// The first item of this process that could not begin, because the machine lacks the
    /// resources: [`WorkOutcome::NotBegun`](crate::work::WorkOutcome::NotBegun). It is put back, as
    /// are those that follow it.
    #[non_exhaustive]
    NotBegun {
        /// The missing resource, such as a descriptor.
        why: &'a str,
        /// The number of items that run at the same time from now on. It rises again later.
        max_parallel: usize,
    },
    /// No further item is started; running ones finish.
    #[non_exhaustive]
    Stopping {
        /// The reason.
        #[serde(flatten)]
        reason: &'a StopReason,
    },
}

/// A callback for events.
pub(crate) type JobListener = Arc<dyn Fn(&JobEvent<'_>) + Send + Sync>;
