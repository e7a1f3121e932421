//! [`JobReport`]: the outcome of a job, for people and for machines.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::item::clock::Timestamp;
use crate::item::failure::LATE;
use crate::item::json::{is_default, seconds};
use crate::item::record::{Counts, Filter, ItemState};
use crate::item::sanitize::OneLine;
use crate::item::summary::Group;
use crate::job::advice::Pattern;
use crate::job::record::{Job, JobStatus, StopReason};
use crate::store::{Store, StoreError};
use crate::words::{self, count, thousands};

/// The noun for the items of a job in output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Items; those that failed for good are dead letters.
    #[default]
    Item,
    /// Steps, which run one after another.
    Step,
    /// Tasks of a graph.
    Task,
}

impl Unit {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Item => "item",
            Self::Step => "step",
            Self::Task => "task",
        }
    }
}

/// The outcome of a job: `Display` for people, serde for machines.
///
/// ```
/// use retry_workflow::Workflow;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let report = Workflow::new("halve")
///     .run([8, 6, 3, 4], |n: u32, _| async move {
///         if n % 2 == 0 { Ok(n / 2) } else { Err(format!("{n} is odd")) }
///     })
///     .await
///     .unwrap();
/// assert_eq!((report.succeeded(), report.dead()), (3, 1));
/// assert!(report.to_string().contains("1 × <n> is odd"));
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JobReport {
    /// The job: its id, its name, and how it ended.
    #[serde(flatten)]
    pub job: Job,
    /// Its items by state, its attempts, and the time that they took.
    pub counts: Counts,
    /// The time from its beginning to its end, or until now, including time between processes.
    #[serde(serialize_with = "seconds::serialize")]
    pub elapsed: Duration,
    /// The number of items that failed permanently, by class.
    pub classes: BTreeMap<String, u64>,
    /// The same by signature, the largest group first; the smallest ones are omitted if there are
    /// very many.
    pub groups: Vec<Group>,
    /// Groups of three or more, with advice.
    pub patterns: Vec<Pattern>,
    /// The number of items of the input that had succeeded in this job before this process worked
    /// on it, and were not run again.
    #[serde(skip_serializing_if = "is_default")]
    pub already_done: u64,
    /// The number of items of the input whose payload differs from the one that this job got
    /// earlier, and keeps. Items that have failed are not compared, because they may have been
    /// edited.
    #[serde(skip_serializing_if = "is_default")]
    pub changed: u64,
    /// The number of items of the input with the id and the payload of an earlier one, such as the
    /// second of two equal ones with [`keyed`](crate::keyed). Both are one item, which runs once.
    /// Counted in a job that this process alone has begun.
    #[serde(skip_serializing_if = "is_default")]
    pub repeated: u64,
    /// The number of groups, including the omitted ones.
    #[serde(skip)]
    all_groups: usize,
    #[serde(skip)]
    unit: Unit,
    #[serde(skip)]
    expected: Option<u64>,
}

/// A longer list of groups would not be read.
const MOST_GROUPS: usize = 100;
/// The number of groups in the text for people.
const SHOWN_GROUPS: usize = 5;

impl JobReport {
    /// Loads the current report of the job with this id, or `None` if the job does not exist.
    ///
    /// ```
    /// # use retry_workflow::{JobReport, SqliteStore, Workflow};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// Workflow::new("import")
    ///     .store(store.clone())
    ///     .run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) })
    ///     .await?;
    ///
    /// // In another process:
    /// let report = JobReport::load(&store, "import-1").await?.unwrap();
    /// assert_eq!(report.succeeded(), 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn load(store: &dyn Store, job: &str) -> Result<Option<Self>, StoreError> {
        let Some(mut job) = Job::find(store, job).await? else { return Ok(None) };
        let counts = store.counts(&job.id).await?;
        job.status = job.status_with(&counts, store.now());
        let failed = Filter::job(&job.id).states([ItemState::Dead, ItemState::Skipped]);
        let mut groups =
            if counts.failed() == 0 { Vec::new() } else { store.stats(&failed, None).await? };
        let mut classes = BTreeMap::new();
        for group in &groups {
            *classes.entry(group.class.clone()).or_insert(0) += group.count;
        }
        let all_groups = groups.len();
        groups.truncate(MOST_GROUPS);
        let elapsed = job.ended.unwrap_or_else(Timestamp::now).since(job.created);
        let patterns = Pattern::among(&groups);
        Ok(Some(Self {
            job,
            counts,
            elapsed,
            classes,
            groups,
            patterns,
            already_done: 0,
            changed: 0,
            repeated: 0,
            all_groups,
            unit: Unit::Item,
            expected: None,
        }))
    }

    /// Sets what its items are called, and how many there will be if not all of them have begun.
    /// Default: items, as many as there are.
    #[must_use]
    pub fn counted_in(mut self, unit: Unit, expected: Option<u64>) -> Self {
        (self.unit, self.expected) = (unit, expected);
        self
    }

    /// Returns how many groups of failures its text leaves out: it has the five largest.
    pub fn more_groups(&self) -> usize {
        self.all_groups.saturating_sub(SHOWN_GROUPS)
    }

    /// Returns what its items are called.
    pub const fn unit(&self) -> Unit {
        self.unit
    }

    /// Returns the number of items.
    ///
    /// ```
    /// # use retry_workflow::Workflow;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("halve")
    ///     .run([8, 6, 3], |n: u32, _| async move {
    ///         if n % 2 == 0 { Ok(()) } else { Err("odd") }
    ///     })
    ///     .await?;
    /// assert_eq!(report.total(), 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn total(&self) -> u64 {
        self.counts.total()
    }

    retry_rules::accessors! {
        /// Returns the number of items that succeeded.
        ///
        /// ```
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("halve")
        ///     .run([8, 6, 3], |n: u32, _| async move {
        ///         if n % 2 == 0 { Ok(()) } else { Err("odd") }
        ///     })
        ///     .await?;
        /// assert_eq!(report.succeeded(), 2);
        /// # Ok(())
        /// # }
        /// ```
        pub fn succeeded(&self) -> u64 { counts.succeeded }

        /// Returns the number of dead letters.
        ///
        /// ```
        /// # use retry_workflow::Workflow;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("halve")
        ///     .run([8, 6, 3], |n: u32, _| async move {
        ///         if n % 2 == 0 { Ok(()) } else { Err("odd") }
        ///     })
        ///     .await?;
        /// assert_eq!(report.dead(), 1);
        /// # Ok(())
        /// # }
        /// ```
        pub fn dead(&self) -> u64 { counts.dead }

        /// Returns the number of items that were skipped.
        ///
        /// ```
        /// # use retry_workflow::{ErrorPolicy, OnItemFailure, Workflow};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("halve")
        ///     .error_policy(ErrorPolicy::new().on_item_failure(OnItemFailure::Skip))
        ///     .run([3], |_: u32, _| async { Err::<(), _>("odd") })
        ///     .await?;
        /// assert_eq!(report.skipped(), 1);
        /// # Ok(())
        /// # }
        /// ```
        pub fn skipped(&self) -> u64 { counts.skipped }
    }

    /// Returns the number of items that were skipped because they had not begun in time: see
    /// [`skip_after`](crate::JobRunner::skip_after).
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use retry_workflow::Workflow;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("halve")
    ///     .skip_after(Duration::ZERO)
    ///     .run([8, 6, 3], |_: u32, _| async { Ok::<_, String>(()) })
    ///     .await?;
    /// assert_eq!((report.late(), report.is_late()), (3, true));
    /// # Ok(())
    /// # }
    /// ```
    pub fn late(&self) -> u64 {
        self.classes.get(LATE).copied().unwrap_or(0).min(self.counts.skipped)
    }

    /// Returns `true` if it was too late for some items: they were skipped, or the rest of the
    /// input was not read.
    pub fn is_late(&self) -> bool {
        self.late() > 0 || self.job.is_cut_short
    }

    /// Returns `true` if every item has succeeded.
    ///
    /// ```
    /// # use retry_workflow::Workflow;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("halve")
    ///     .run([8, 6, 3], |n: u32, _| async move {
    ///         if n % 2 == 0 { Ok(()) } else { Err("odd") }
    ///     })
    ///     .await?;
    /// assert!(!report.is_success(), "{report}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_success(&self) -> bool {
        let is_whole = self.job.status == JobStatus::Finished && !self.job.is_cut_short;
        is_whole && self.counts.failed() == 0
    }

    /// Returns why the job stopped before its end, if it did.
    ///
    /// ```
    /// # use retry_workflow::Workflow;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let report = Workflow::new("halve")
    ///     .run([8, 6, 3], |n: u32, _| async move {
    ///         if n % 2 == 0 { Ok(()) } else { Err("odd") }
    ///     })
    ///     .await?;
    /// assert_eq!(report.stopped(), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stopped(&self) -> Option<&StopReason> {
        match &self.job.status {
            JobStatus::Stopped { reason } => Some(reason),
            _ => None,
        }
    }
}

impl fmt::Display for JobReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job, counts, .. } = self;
        write!(f, "job {}: ", OneLine(&job.id))?;
        match &job.status {
            JobStatus::Running => writeln!(f, "running")?,
            JobStatus::Finished => writeln!(f, "finished")?,
            JobStatus::Stopped { reason } => writeln!(f, "stopped: {reason}")?,
        }
        let unit = self.unit.as_str();
        write!(f, "  {unit}s     {} succeeded", counts.succeeded)?;
        let dead = match (self.unit, counts.dead) {
            (Unit::Item, 1) => "dead letter",
            (Unit::Item, _) => "dead letters",
            _ => "failed",
        };
        let total = self.expected.unwrap_or(0).max(counts.total());
        let left = total.saturating_sub(counts.ended());
        for (number, what) in [(counts.dead, dead), (counts.skipped, "skipped"), (left, "to do")] {
            if number > 0 {
                write!(f, ", {number} {what}")?;
            }
        }
        writeln!(f, ", of {total}")?;
        if job.is_cut_short {
            writeln!(f, "  input     not read to its end, because it was too late for the rest")?;
        }
        if self.already_done > 0 {
            writeln!(f, "            {} of the input had succeeded before", self.already_done)?;
        }
        if self.changed > 0 {
            let changed = self.changed;
            writeln!(
                f,
                "            {changed} of the input were other items when the job got them"
            )?;
        }
        if self.repeated > 0 {
            writeln!(f, "            {} of the input repeated an earlier item", self.repeated)?;
        }
        write!(f, "  attempts  {}", counts.attempts)?;
        if counts.lost > 0 {
            write!(f, ", and {} lost with their worker", counts.lost)?;
        }
        writeln!(f)?;
        write!(f, "  time      {}", words::total(self.elapsed))?;
        write!(
            f,
            "; working {}, waiting {}",
            words::total(counts.worked),
            words::total(counts.waited)
        )?;
        if self.groups.is_empty() {
            return Ok(());
        }
        write!(f, "\n  failures ")?;
        for (class, number) in &self.classes {
            write!(f, " {class} {number}")?;
        }
        let shown = self.groups.iter().take(SHOWN_GROUPS);
        let mut advice = "";
        for group in shown.clone() {
            write!(f, "\n    {} × {}", group.count, OneLine(group.signature.as_str()))?;
            let pattern = self.patterns.iter().find(|pattern| pattern.group == *group);
            // Once for groups below each other.
            if let Some(pattern) = pattern.filter(|pattern| pattern.advice != advice) {
                advice = pattern.advice;
                write!(f, "\n      {advice}")?;
            }
        }
        if self.more_groups() > 0 {
            let shown: u64 = shown.map(|group| group.count).sum();
            let failed = self.classes.values().sum::<u64>().saturating_sub(shown);
            let groups = u64::try_from(self.more_groups()).unwrap_or(u64::MAX);
            write!(f, "\n    {} × in {}", thousands(failed), count(groups, "smaller group"))?;
        }
        Ok(())
    }
}
