//! Work items as a store knows them: what goes in, and what is read back.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::item::clock::{Timestamp, whole_micros};
use crate::item::failure::Failure;
use crate::item::json::{embedded, is_default, seconds};
use crate::item::one_or_many::OneOrMany;

/// The state of an item.
///
/// Every store writes and reads all of them, so there will be no others.
///
/// ```
/// use retry_workflow::{Filter, ItemState};
///
/// let pending = Filter::job("import-1").states([ItemState::Pending]);
/// assert!(pending.wants_state(ItemState::Pending));
/// assert!(!ItemState::Pending.is_final());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    /// It waits until it is due, or for a worker.
    Pending,
    /// A worker has it.
    Leased,
    /// It succeeded. Final.
    Succeeded,
    /// It failed, and is a dead letter. Final, until it is re-driven.
    Dead,
    /// It was skipped. Final, until it is re-driven.
    Skipped,
}

impl ItemState {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Leased, Self::Succeeded, Self::Dead, Self::Skipped];

    /// Returns the name of the state.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Leased => "leased",
            Self::Succeeded => "succeeded",
            Self::Dead => "dead",
            Self::Skipped => "skipped",
        }
    }

    /// Returns `true` if nothing more happens to an item in this state by itself.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Dead | Self::Skipped)
    }
}

impl fmt::Display for ItemState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// An item that is new to a store.
///
/// ```
/// use retry_workflow::store::NewItem;
///
/// let order = NewItem::new("A-17", r#"{"quantity": 3}"#);
/// assert_eq!(order.id, "A-17");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewItem {
    /// Identifies the item within its job; the same in every process.
    pub id: String,
    /// The payload: JSON.
    pub payload: String,
    /// Follows the item through the logs of other systems; `None`: `job/id` does.
    pub correlation: Option<String>,
    /// The priority, one of [`PRIORITIES`](crate::store::PRIORITIES): items with a higher one
    /// are claimed first.
    pub priority: i8,
}

impl NewItem {
    /// Creates an item with this id, and its payload as JSON.
    ///
    /// ```
    /// use retry_workflow::store::NewItem;
    ///
    /// let order = NewItem::new("A-17", r#"{"quantity": 3}"#).correlation("web-4711");
    /// assert_eq!(order.correlation.as_deref(), Some("web-4711"));
    /// ```
    pub fn new(id: impl Into<String>, payload: impl Into<String>) -> Self {
        Self { id: id.into(), payload: payload.into(), correlation: None, priority: 0 }
    }

    retry_rules::accessors! {
        /// Sets the id that follows the item through the logs of other systems. Default: `job/id`.
        #[must_use]
        pub fn correlation(self, id: impl Into<String>) -> Self { correlation: Some(id.into()) }

        /// Sets how urgent it is, one of [`PRIORITIES`](crate::store::PRIORITIES): items with a
        /// higher one are claimed first. Default: 0.
        ///
        /// ```
        /// use retry_workflow::store::NewItem;
        ///
        /// let rush = NewItem::new("A-17", "{}").priority(5);
        /// assert!(rush.priority > NewItem::new("A-18", "{}").priority);
        /// ```
        #[must_use]
        pub fn priority(self, priority: i8) -> Self { priority: priority }
    }
}

/// The outcome of an attempt.
///
/// Every store writes and reads all of them, so no variant will be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// The attempt succeeded.
    Succeeded,
    /// The attempt failed.
    Failed,
    /// Unknown: its worker died, or lost its lease.
    Lost,
    /// It was not ready, and came back later without using up an attempt. One row stands for all
    /// such attempts in a row: [`Failure::times`] is their number, `started` is the time of the
    /// last one, and `wait` is the sum of their waits.
    Postponed,
    /// Not an attempt: a user re-drove the item, which began this run. `worker` is the user,
    /// `started` is the time at which the run was due, and `attempt` is 0.
    Redriven,
}

impl AttemptOutcome {
    /// Returns the name of the outcome.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::Postponed => "postponed",
            Self::Redriven => "redriven",
        }
    }

    /// Returns `true` if it counts as an attempt, with the time that it took: one that was lost or
    /// postponed does not, nor does a re-drive.
    ///
    /// ```
    /// use retry_workflow::store::AttemptOutcome;
    ///
    /// assert!(AttemptOutcome::Failed.is_counted());
    /// assert!(!AttemptOutcome::Postponed.is_counted());
    /// ```
    pub const fn is_counted(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// One row of an item's history.
///
/// Your own store creates one with [`new`](Self::new), and sets the fields that differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AttemptRecord {
    /// The run it belongs to.
    pub run: u32,
    /// The number of the attempt within the run.
    pub attempt: u32,
    /// The time at which it started.
    pub started: Timestamp,
    /// The time that it took.
    #[serde(with = "seconds")]
    pub duration: Duration,
    /// The wait after it; zero without a wait.
    #[serde(default, with = "seconds")]
    pub wait: Duration,
    /// The worker that made it.
    pub worker: Arc<str>,
    /// The step that it ended in, if the work has steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The outcome.
    pub outcome: AttemptOutcome,
    /// The failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// The end of what it printed, if it succeeded. [`Failure::output`] has what a failed attempt
    /// printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

impl AttemptRecord {
    /// Creates the row of a first attempt: run 0, attempt 1, no time, no step, no failure, no
    /// output.
    pub fn new(worker: impl Into<Arc<str>>, started: Timestamp, outcome: AttemptOutcome) -> Self {
        Self {
            run: 0,
            attempt: 1,
            started,
            duration: Duration::ZERO,
            wait: Duration::ZERO,
            worker: worker.into(),
            step: None,
            outcome,
            failure: None,
            output: None,
        }
    }

    /// Returns how long it took, and its step, if it counts as an attempt.
    pub(crate) fn took(&self) -> Option<(Option<&str>, Duration)> {
        self.outcome.is_counted().then_some((self.step.as_deref(), self.duration))
    }
}

/// Everything that a store knows about an item.
///
/// Your own store creates one with [`new`](Self::new), and sets the fields that differ:
///
/// ```
/// use retry_workflow::{ItemRecord, ItemState};
///
/// let mut item = ItemRecord::new("orders-1", "A-17", r#"{"quantity": 3}"#);
/// assert_eq!((item.state, item.correlation.as_str()), (ItemState::Pending, "orders-1/A-17"));
/// item.state = ItemState::Succeeded;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ItemRecord {
    /// The job it belongs to.
    pub job: String,
    /// Its id within the job.
    pub id: String,
    /// The payload: JSON. Empty once the item has been purged.
    #[serde(default, skip_serializing_if = "String::is_empty", with = "embedded")]
    pub payload: String,
    /// The id that follows it through logs; it stays the same in every re-drive.
    pub correlation: String,
    /// The priority: items with a higher priority are claimed first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i8,
    /// Its state.
    pub state: ItemState,
    /// 0, plus one for each re-drive.
    pub run: u32,
    /// The number of its last attempt in this run. If a lease was dropped before the item was
    /// started, its number is missing from the history, and not reused.
    pub attempt: u32,
    /// The time at which it is due, while it is pending; the end of its lease, while it is leased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// The checkpoint that its last attempt left, unless it has succeeded: JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The time at which it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// The output of a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The failure of a dead letter or a skipped item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Its attempts in all runs, oldest first. Empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<AttemptRecord>,
}

impl ItemRecord {
    /// Creates the record of a new item: pending, never tried, without a due time, and with the
    /// correlation id `job/id`.
    pub fn new(job: impl Into<String>, id: impl Into<String>, payload: impl Into<String>) -> Self {
        let (job, id) = (job.into(), id.into());
        Self {
            correlation: format!("{job}/{id}"),
            job,
            id,
            payload: payload.into(),
            priority: 0,
            state: ItemState::Pending,
            run: 0,
            attempt: 0,
            due: None,
            checkpoint: None,
            ended: None,
            output: None,
            failure: None,
            history: Vec::new(),
        }
    }
}

/// The numbers of a job's items by state, and the attempts and time spent on them so far.
///
/// Your own store sets the fields of [`Counts::default`].
///
/// ```
/// # use retry_workflow::store::NewItem;
/// # use retry_workflow::{SqliteStore, Store};
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteStore::in_memory();
/// store.enqueue("orders", vec![NewItem::new("17", "{}")], store.now()).await?;
/// let counts = store.counts("orders").await?;
/// assert_eq!((counts.total(), counts.ended(), counts.unfinished()), (1, 0, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// Waiting until they are due, or for a worker.
    pub pending: u64,
    /// Held by a worker.
    pub leased: u64,
    /// Done.
    pub succeeded: u64,
    /// Dead letters.
    pub dead: u64,
    /// Skipped.
    pub skipped: u64,
    /// Rows of history written, except the rows of lost and postponed attempts.
    pub attempts: u64,
    /// Leases of started items that expired unsettled.
    pub lost: u64,
    /// The sum of the durations of all attempts, except lost and postponed ones.
    #[serde(with = "seconds")]
    pub worked: Duration,
    /// The sum of all waits between attempts.
    #[serde(with = "seconds")]
    pub waited: Duration,
}

impl Counts {
    /// Counts a row of history.
    #[doc(hidden)]
    pub fn add_attempt(&mut self, row: &AttemptRecord) {
        // The running time of a lost attempt is unknown.
        if row.outcome == AttemptOutcome::Lost {
            self.lost = self.lost.saturating_add(1);
        }
        if !row.outcome.is_counted() {
            return;
        }
        self.attempts = self.attempts.saturating_add(1);
        self.worked = whole_micros(self.worked.saturating_add(whole_micros(row.duration)));
        self.waited = whole_micros(self.waited.saturating_add(whole_micros(row.wait)));
    }

    /// Returns the number of items.
    pub const fn total(&self) -> u64 {
        self.pending + self.leased + self.ended()
    }

    /// Returns the number of items in a final state.
    pub const fn ended(&self) -> u64 {
        self.succeeded + self.failed()
    }

    /// Returns the number of items that ended without success.
    pub const fn failed(&self) -> u64 {
        self.dead + self.skipped
    }

    /// Returns the number of items that have not ended.
    pub const fn unfinished(&self) -> u64 {
        self.pending + self.leased
    }
}

/// Selects items. Every condition that is set must hold.
///
/// ```
/// use retry_workflow::Filter;
///
/// let timeouts = Filter::job("orders-1").class("timeout");
/// assert_eq!(timeouts.class.as_deref(), Some("timeout"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a filter does nothing by itself"]
#[non_exhaustive]
pub struct Filter {
    /// Items of this job.
    pub job: Option<String>,
    /// Items with one of these ids.
    pub ids: Option<Vec<String>>,
    /// Items in one of these states; `None`: dead letters.
    pub states: Option<Vec<ItemState>>,
    /// Items that failed with exactly this signature.
    pub signature: Option<String>,
    /// Items that failed with this class, alone or among others.
    pub class: Option<String>,
    /// Items that ended at this time or later.
    pub since: Option<Timestamp>,
    /// Items that ended before this time.
    pub until: Option<Timestamp>,
}

/// One filter, where several are possible: [`DeadLetters::retry`](crate::DeadLetters::retry).
impl AsRef<[Self]> for Filter {
    fn as_ref(&self) -> &[Self] {
        std::slice::from_ref(self)
    }
}

impl Filter {
    /// Creates a filter that selects the dead letters of all jobs: the default one.
    ///
    /// ```
    /// # use retry_workflow::Filter;
    /// assert_eq!(Filter::all(), Filter::default());
    /// ```
    pub fn all() -> Self {
        Self::default()
    }

    /// Creates a filter that selects all dead letters of a job.
    ///
    /// ```
    /// # use retry_workflow::Filter;
    /// assert_eq!(Filter::job("import-1").job.as_deref(), Some("import-1"));
    /// ```
    pub fn job(job: impl Into<String>) -> Self {
        Self { job: Some(job.into()), ..Self::default() }
    }

    /// Selects only these items: one, or several.
    ///
    /// ```
    /// # use retry_workflow::Filter;
    /// let one = Filter::job("import-1").ids("17");
    /// let two = Filter::job("import-1").ids(["17", "23"]);
    /// # let _ = (one, two);
    /// ```
    pub fn ids<Kind>(mut self, ids: impl OneOrMany<String, Kind>) -> Self {
        self.ids = Some(ids.into_list());
        self
    }

    /// Selects items in one of these states, or in this one, instead of dead letters.
    ///
    /// ```
    /// # use retry_workflow::{Filter, ItemState};
    /// let failed = Filter::job("import-1").states([ItemState::Dead, ItemState::Skipped]);
    /// assert!(failed.wants_state(ItemState::Skipped));
    /// ```
    pub fn states<Kind>(mut self, states: impl OneOrMany<ItemState, Kind>) -> Self {
        self.states = Some(states.into_list());
        self
    }

    retry_rules::accessors! {
        /// Selects failures with exactly this signature.
        ///
        /// ```
        /// # use retry_workflow::Filter;
        /// let alike = Filter::job("import-1").signature("<n> timed out");
        /// # let _ = alike;
        /// ```
        pub fn signature(self, signature: impl Into<String>) -> Self { signature: Some(signature.into()) }

        /// Selects failures of this class, alone or among others.
        ///
        /// ```
        /// # use retry_workflow::Filter;
        /// let timeouts = Filter::all().class("timeout");
        /// # let _ = timeouts;
        /// ```
        pub fn class(self, class: impl Into<String>) -> Self { class: Some(class.into()) }

        /// Selects items that ended at this time or later.
        ///
        /// ```
        /// # use retry_workflow::Filter;
        /// # fn main() -> Result<(), retry_workflow::job::InvalidTimestamp> {
        /// let today = Filter::all().since("2026-11-22T00:00:00Z".parse()?);
        /// # let _ = today;
        /// # Ok(())
        /// # }
        /// ```
        pub fn since(self, since: Timestamp) -> Self { since: Some(since) }

        /// Selects items that ended before this time.
        ///
        /// ```
        /// # use retry_workflow::Filter;
        /// # fn main() -> Result<(), retry_workflow::job::InvalidTimestamp> {
        /// let old = Filter::all().until("2026-01-01T00:00:00Z".parse()?);
        /// # let _ = old;
        /// # Ok(())
        /// # }
        /// ```
        pub fn until(self, until: Timestamp) -> Self { until: Some(until) }
    }

    /// Returns `true` if items in this state are selected.
    pub fn wants_state(&self, state: ItemState) -> bool {
        self.states.as_ref().map_or(state == ItemState::Dead, |states| states.contains(&state))
    }

    /// Returns `true` if only items that have ended are selected: others have no failure, and no
    /// time at which they ended.
    #[doc(hidden)]
    pub fn wants_ended(&self) -> bool {
        self.class.is_some()
            || self.signature.is_some()
            || self.since.is_some()
            || self.until.is_some()
    }

    /// Returns `true` if this item is selected.
    pub fn wants(&self, item: &ItemRecord) -> bool {
        let failure = item.failure.as_ref();
        self.wants_state(item.state)
            && self.job.as_ref().is_none_or(|job| *job == item.job)
            && self.ids.as_ref().is_none_or(|ids| ids.contains(&item.id))
            && self.signature.as_ref().is_none_or(|wanted| {
                failure.is_some_and(|failure| failure.signature.as_str() == wanted)
            })
            && self.class.as_ref().is_none_or(|wanted| {
                failure.is_some_and(|failure| has_class(&failure.class, wanted))
            })
            && self.since.is_none_or(|since| item.ended.is_some_and(|ended| ended >= since))
            && self.until.is_none_or(|until| item.ended.is_some_and(|ended| ended < until))
    }
}

/// Returns whether `class`, such as `server_error+timeout`, is `wanted` or contains it.
pub(crate) fn has_class(class: &str, wanted: &str) -> bool {
    class == wanted || class.split('+').any(|one| one == wanted)
}

/// Part of a list, and where the next part begins.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page<T> {
    /// This part.
    pub items: Vec<T>,
    /// The cursor of the next part; `None` if this is the last one.
    pub next: Option<Cursor>,
}

impl<T> Page<T> {
    /// Creates a part of a list.
    pub fn new(items: Vec<T>, next: Option<Cursor>) -> Self {
        Self { items, next }
    }
}

/// A place in a list, valid as long as the store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(pub i64);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
