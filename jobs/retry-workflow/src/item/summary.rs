//! Views of a store: failures that are alike, jobs with their counts, one job at one moment.

use serde::{Deserialize, Serialize};

use crate::item::clock::Timestamp;
use crate::item::failure::Failure;
use crate::item::record::Counts;
use crate::item::signature::Signature;

/// A view of a job at one moment: [`Store::overview`](crate::Store::overview).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overview {
    /// The number of its items in each state.
    pub counts: Counts,
    /// The number of items that wait to be leased for the first time, counted up to a limit. Items
    /// that were re-driven, or imported after an attempt, do not count.
    pub waiting: u64,
    /// The time at which the next item can be claimed, suspects included: it is due, or its lease
    /// expires.
    pub next_due: Option<Timestamp>,
    /// The time at which the next [suspect](crate::store::Lease::is_suspect) can be claimed.
    pub next_suspect: Option<Timestamp>,
}

impl Overview {
    /// Creates the overview of a job with these counts, in which nothing waits or is due.
    pub fn new(counts: Counts) -> Self {
        Self { counts, ..Self::default() }
    }
}

/// Failures that are alike: same class and same signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Group {
    /// Their class.
    pub class: String,
    /// Their signature.
    pub signature: Signature,
    /// The number of items.
    pub count: u64,
    /// The time at which the first of them ended.
    pub first: Timestamp,
    /// The time at which the last of them ended.
    pub last: Timestamp,
    /// One of the items.
    pub example: String,
    /// Its message.
    pub message: String,
    /// The number of them that ended in each hour, the oldest first; hours without any are left
    /// out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<HourCount>,
}

impl Group {
    /// Creates the group of one failed item, which is its example.
    ///
    /// ```
    /// use retry_workflow::store::{Group, HourCount};
    /// use retry_workflow::{Failure, Timestamp};
    ///
    /// let failure = Failure::new("other", "order 4711 has no customer");
    /// let mut group = Group::new(&failure, "A-17", Timestamp::from_micros(1));
    /// let ended = Timestamp::from_micros(3);
    /// group.add_hour(HourCount::new(ended.hour(), 4), ended, ended);
    /// assert_eq!((group.count, group.last), (5, ended));
    /// assert_eq!((group.hours.len(), group.hours[0].count), (1, 5));
    /// ```
    pub fn new(failure: &Failure, item: impl Into<String>, ended: Timestamp) -> Self {
        Self {
            class: failure.class.clone(),
            signature: failure.signature.clone(),
            count: 1,
            first: ended,
            last: ended,
            example: item.into(),
            message: failure.message.clone(),
            hours: vec![HourCount::new(ended.hour(), 1)],
        }
    }

    /// Counts the items that ended in an hour, between these times.
    pub fn add_hour(&mut self, hour: HourCount, first: Timestamp, last: Timestamp) {
        self.count = self.count.saturating_add(hour.count);
        self.first = self.first.min(first);
        self.last = self.last.max(last);
        match self.hours.binary_search_by_key(&hour.hour, |known| known.hour) {
            Ok(at) => self.hours[at].count = self.hours[at].count.saturating_add(hour.count),
            Err(at) => self.hours.insert(at, hour),
        }
    }
}

/// The number of items of a [`Group`] that ended in one hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HourCount {
    /// The beginning of the hour: a whole hour of UTC.
    pub hour: Timestamp,
    /// The number of items.
    pub count: u64,
}

impl HourCount {
    /// Creates the count of the hour that begins at `hour`.
    pub const fn new(hour: Timestamp, count: u64) -> Self {
        Self { hour, count }
    }
}

/// A row in a list of jobs: see [`Store::jobs`](crate::Store::jobs).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobRow {
    /// The id of the job.
    pub job: String,
    /// The value at `job/` and its id, if there is one.
    pub record: Option<String>,
    /// The counts of its items.
    pub counts: Counts,
}

impl JobRow {
    /// Creates the row of a job.
    pub fn new(job: impl Into<String>, record: Option<String>, counts: Counts) -> Self {
        Self { job: job.into(), record, counts }
    }
}
