//! [`After`]: the job that has to succeed or finish before another one begins, and [`JobEnd`]: its
//! end.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::item::clock::Timestamp;
use crate::words::count;

/// The job that has to succeed, or [finish](Self::status), before another one begins: see
/// [`JobRunner::after`](crate::JobRunner::after). A text is its id, or the name of its workflow, of
/// which the newest job counts.
///
/// ```
/// use std::time::Duration;
/// use retry_workflow::job::After;
///
/// let any = After::from("import");
/// let tonight = After::new("import").newer_than(Duration::from_secs(12 * 3_600));
/// assert_ne!(any, tonight);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it has no effect until it is passed to `after`"]
pub struct After {
    job: String,
    newer_than: Option<Duration>,
    status: AwaitedStatus,
}

/// The end that another job has to reach before the job that waits for it begins.
///
/// ```
/// use retry_workflow::job::{After, AwaitedStatus};
///
/// let export = After::new("import").status(AwaitedStatus::Finished);
/// assert_eq!(AwaitedStatus::default(), AwaitedStatus::Succeeded);
/// assert_ne!(export, After::new("import"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AwaitedStatus {
    /// All of its items have succeeded. The default.
    #[default]
    Succeeded,
    /// All of its items have ended, some of them perhaps as dead letters, or skipped as late. A job
    /// that stopped, for example at its `failure_threshold`, has not finished.
    Finished,
}

impl AwaitedStatus {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Succeeded, Self::Finished];

    /// Returns its word in files and sentences.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Finished => "finished",
        }
    }

    /// Returns whether a job that has ended like this has reached it.
    pub fn is_reached(self, end: JobEnd) -> bool {
        match self {
            Self::Succeeded => end.is_success(),
            Self::Finished => !end.stopped,
        }
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl After {
    /// Names the other job by its id, or by the name of its workflow.
    pub fn new(job: impl Into<String>) -> Self {
        Self { job: job.into(), newer_than: None, status: AwaitedStatus::default() }
    }

    /// Accepts only a job that was created at most this long before the job that waits for it, or
    /// later. Default: a job of any age.
    pub const fn newer_than(mut self, age: Duration) -> Self {
        self.newer_than = Some(age);
        self
    }

    /// Sets the end that the other job has to reach. Default: it has to succeed.
    pub const fn status(mut self, status: AwaitedStatus) -> Self {
        self.status = status;
        self
    }

    /// Returns the name or id, the earliest creation of the other job that counts, for a job that
    /// was created at `created`, and the end that it has to reach.
    pub fn of(&self, created: Timestamp) -> (&str, Option<Timestamp>, AwaitedStatus) {
        (&self.job, self.newer_than.map(|age| created - age), self.status)
    }
}

impl<S: Into<String>> From<S> for After {
    fn from(job: S) -> Self {
        Self::new(job)
    }
}

/// The end of a job: see [`Job::end`](crate::Job::end).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JobEnd {
    /// It stopped before all of its items had ended.
    pub stopped: bool,
    /// The number of its dead letters.
    pub dead: u64,
    /// The number of items that were skipped as late.
    pub late: u64,
    /// The rest of its input was not read, because it was too late for it
    /// ([`Job::cut_short`](crate::Job::cut_short)). It cannot succeed any more.
    pub cut_short: bool,
}

impl JobEnd {
    /// Returns `true` if the job has succeeded with all of its items.
    pub fn is_success(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for JobEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.stopped { "it stopped" } else { "it finished" })?;
        if self.cut_short {
            f.write_str(" before the end of its input")?;
        }
        let parts = [(self.dead, "dead letter"), (self.late, "late item")];
        for (at, (number, noun)) in parts.into_iter().filter(|(number, _)| *number > 0).enumerate()
        {
            let before = if at == 0 { "with" } else { "and" };
            write!(f, " {before} {}", count(number, noun))?;
        }
        Ok(())
    }
}
