//! The audit of changes: actions on jobs and dead letters, taken by people on the board and on the
//! command line.
//!
//! An action is written down before it is taken, and once more when it is done, so that it is there
//! even if the process dies in between. Nothing removes entries.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::item::clock::Timestamp;
use crate::item::record::{Filter, ItemRecord, has_class};
use crate::store::{Store, StoreError};

/// The prefix of entries among the values of a store.
const PREFIX: &str = "audit/";
/// The number of digits of an entry's time in its key, so that keys are in its order.
const DIGITS: usize = 20;

/// An action: who, when, what, and how many items it was about.
///
/// ```
/// use retry_workflow::audit::Entry;
/// use retry_workflow::{DeadLetters, Filter, MemoryStore, Redrive};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), retry_workflow::StoreError> {
/// let store = MemoryStore::new();
/// let filter = Filter::job("import-1").class("timeout");
/// let begun = Entry::new("ada", "re-drive").about(&filter).begin(&store).await?;
/// let taken = DeadLetters::new(store.clone()).retry(&[filter], Redrive::new()).await?;
/// begun.done(&store, taken).await?;
///
/// let entries = Entry::newest(&store, 10).await?;
/// assert_eq!((entries[0].who.as_str(), entries[0].items), ("ada", Some(0)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    /// The time at which it began.
    pub at: Timestamp,
    /// The user who did it.
    pub who: String,
    /// The action: a word such as `re-drive`, `purge`, `pause` or `cancel`.
    pub action: String,
    /// The job, if it was about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The items, if they were named one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// The class that was selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The signature that was selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// Whatever else is worth knowing, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The number of items it was about; `None` if it is not known to have ended.
    pub items: Option<u64>,
}

/// An action that has begun, and is written down.
#[derive(Clone, Debug)]
#[must_use = "an action is done once that has been written down"]
pub struct Begun {
    key: String,
    entry: Entry,
}

impl Entry {
    /// Creates an entry.
    pub fn new(who: impl Into<String>, action: impl Into<String>) -> Self {
        Self {
            at: Timestamp::default(),
            who: who.into(),
            action: action.into(),
            job: None,
            ids: Vec::new(),
            class: None,
            signature: None,
            note: None,
            items: None,
        }
    }

    /// Sets what it is about: the items that a filter selects.
    #[must_use]
    pub fn about(mut self, filter: &Filter) -> Self {
        self.job.clone_from(&filter.job);
        self.ids = filter.ids.clone().unwrap_or_default();
        self.class.clone_from(&filter.class);
        self.signature.clone_from(&filter.signature);
        self
    }

    /// Sets the job that it is about.
    #[must_use]
    pub fn job(mut self, job: impl Into<String>) -> Self {
        self.job = Some(job.into());
        self
    }

    /// Adds what else is worth knowing.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Writes down that the action begins now.
    ///
    /// # Errors
    /// The store fails: do not take the action.
    pub async fn begin(mut self, store: &dyn Store) -> Result<Begun, StoreError> {
        self.at = store.now();
        let mut place = self.at;
        loop {
            let key = format!("{PREFIX}{:0DIGITS$}", place.as_micros().max(0));
            if store.cas_json(&key, 0, &self).await? {
                return Ok(Begun { key, entry: self });
            }
            // Another action has begun in the same microsecond.
            place = place + Duration::from_micros(1);
        }
    }

    /// Returns the newest entries, the newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn newest(store: &dyn Store, max: usize) -> Result<Vec<Self>, StoreError> {
        let values = store.values(PREFIX).await?;
        let read = |(_, text): &(String, String)| serde_json::from_str(text).ok();
        Ok(values.iter().rev().filter_map(read).take(max).collect())
    }

    /// Returns `true` if the action was about this item, as far as that can be known: its job, its
    /// id, and the class and signature of its last failure before the action fit. An item that has
    /// had no run since was not re-driven by it, and one that still has its payload was not purged.
    pub fn concerns(&self, item: &ItemRecord) -> bool {
        if self.job.as_ref().is_some_and(|job| *job != item.job) {
            return false;
        }
        let before = || item.history.iter().filter(|row| row.started <= self.at);
        let run = before().map(|row| row.run).max().unwrap_or(0);
        let is_untouched = match self.action.as_str() {
            "re-drive" => item.run <= run,
            "purge" => !item.payload.is_empty(),
            _ => false,
        };
        if is_untouched {
            return false;
        }
        if !self.ids.is_empty() {
            return self.ids.contains(&item.id);
        }
        // The last failure when the action was taken.
        let failed = before().filter_map(|row| row.failure.as_ref()).next_back();
        let fits = |class: &String| failed.is_none_or(|failed| has_class(&failed.class, class));
        let same = |text: &String| failed.is_none_or(|failed| failed.signature.as_str() == text);
        self.class.as_ref().is_none_or(fits) && self.signature.as_ref().is_none_or(same)
    }
}

impl Begun {
    /// Writes down that the action is done, and how many items it was about.
    ///
    /// # Errors
    /// The store fails.
    pub async fn done(self, store: &dyn Store, items: u64) -> Result<(), StoreError> {
        let Self { key, entry } = self;
        let entry = Entry { items: Some(items), ..entry };
        // No other writer uses this key.
        store.cas_json(&key, 1, &entry).await.map(drop)
    }
}
