//! [`After`]: the job that has to succeed before another one begins, and [`JobEnd`]: its end.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::item::clock::Timestamp;
use crate::words::count;

/// The job that has to succeed before another one begins: see
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
}

impl After {
    /// Names the other job by its id, or by the name of its workflow.
    pub fn new(job: impl Into<String>) -> Self {
        Self { job: job.into(), newer_than: None }
    }

    /// Accepts only a job that was created at most this long before the job that waits for it, or
    /// later. Default: a job of any age.
    pub const fn newer_than(mut self, age: Duration) -> Self {
        self.newer_than = Some(age);
        self
    }

    /// Returns the name or id, and the earliest creation of the other job that counts, for a job
    /// that was created at `created`.
    pub fn of(&self, created: Timestamp) -> (&str, Option<Timestamp>) {
        (&self.job, self.newer_than.map(|age| created - age))
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
