//! [`StoreCheck`]: what a check of a whole store found.

use serde::Serialize;

use crate::item::clock::Timestamp;
use crate::item::record::ItemState;

/// The result of checking a whole store, such as with
/// [`SqliteStore::check`](crate::SqliteStore::check).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StoreCheck {
    /// The layout of the store's tables.
    pub layout: u32,
    /// The newest layout that this program knows. A store with an older one is migrated when it is
    /// opened for writing.
    pub newest: u32,
    /// The size of the store, in bytes.
    pub bytes: u64,
    /// The number of items the store has.
    pub items: u64,
    /// The jobs whose counts or summary do not match their items.
    pub disagreements: Vec<Disagreement>,
    /// The damage, as the database words it.
    pub damage: Vec<String>,
}

/// A summary of a job's items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Summary {
    /// The failures with this class and this signature that ended in this hour.
    Group {
        /// The class.
        class: String,
        /// The signature.
        signature: String,
        /// The hour.
        hour: Timestamp,
    },
    /// The same over all jobs: it is compared with the groups of the jobs, added up.
    AllJobs {
        /// The class.
        class: String,
        /// The signature.
        signature: String,
        /// The hour.
        hour: Timestamp,
    },
    /// The successes of this minute.
    Minute(Timestamp),
}

/// A count of a job that does not match its items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Disagreement {
    /// The job; empty for a summary over all of them.
    pub job: String,
    /// The state of the items that are counted.
    pub state: ItemState,
    /// The summary that counts them, if it is not the counts of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// The number of the count or the summary says there are.
    pub counted: u64,
    /// The number of there are.
    pub found: u64,
}

impl StoreCheck {
    /// Creates a result without problems so far.
    pub fn new(layout: u32, newest: u32, bytes: u64) -> Self {
        Self { layout, newest, bytes, items: 0, disagreements: Vec::new(), damage: Vec::new() }
    }

    /// Compares the number of items of a job that are counted in a state with the number found.
    pub fn compare(&mut self, job: &str, state: ItemState, counted: u64, found: u64) {
        self.items = self.items.saturating_add(found);
        if counted != found {
            let job = job.to_owned();
            self.disagreements.push(Disagreement { job, state, summary: None, counted, found });
        }
    }

    /// Compares the number of items of a job in a summary with the number found; the job is empty
    /// for a summary over all of them.
    pub fn compare_summary(
        &mut self,
        job: &str,
        state: ItemState,
        summary: Summary,
        counted: u64,
        found: u64,
    ) {
        if counted != found {
            let (job, summary) = (job.to_owned(), Some(summary));
            self.disagreements.push(Disagreement { job, state, summary, counted, found });
        }
    }

    /// Returns `true` if no problem was found.
    pub fn is_sound(&self) -> bool {
        self.disagreements.is_empty() && self.damage.is_empty()
    }
}
