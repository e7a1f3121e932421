//! [`RateRecord`]: how far a job has used up its rates, as its workers share it in the store.

pub(crate) mod window;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::item::clock::Timestamp;
use crate::job::rate::Rate;
use crate::job::rate_record::window::Window;
use crate::store::{Store, StoreError};

/// A rate of a job, and how much of it is used up.
///
/// A job has one for each of its [rates](crate::JobRunner::rate) once a worker has started an item.
///
/// ```
/// use retry_workflow::job::RateRecord;
/// use retry_workflow::{SqliteStore, Rate, Workflow};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = SqliteStore::in_memory();
/// let import = Workflow::new("import").store(store.clone()).rate(["10/s", "1000/h"]);
/// import.run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) }).await?;
/// let rates = RateRecord::of(&store, "import-1").await?;
/// assert_eq!(rates[0].limit, "10/s".parse()?);
/// assert_eq!((rates[1].limit, rates[1].used), ("1000/h".parse()?, Some(3)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RateRecord {
    /// The rate, as the worker has it that reserved the last starts.
    pub limit: Rate,
    /// The starts, or the sum of their costs, that count in the last second, minute, hour or day;
    /// `None` if the starts are spread evenly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// The first start that is still free; one in the past is free now.
    pub next: Timestamp,
}

/// The state of the rates of a key, which workers share.
#[derive(Default, Deserialize)]
struct Shared {
    pace: Option<Rate>,
    #[serde(default)]
    next: Timestamp,
    #[serde(default)]
    windows: BTreeMap<String, Window>,
}

impl RateRecord {
    /// Loads the rates of the job with this id that all its items share.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn of(store: &dyn Store, job: &str) -> Result<Vec<Self>, StoreError> {
        let Shared { pace, next, windows } =
            store.json(&Self::key(job)).await?.1.unwrap_or_default();
        let now = store.now();
        let paced = pace.map(|limit| Self { limit, used: None, next });
        let windows = windows.into_values().map(|window| Self {
            limit: window.limit,
            used: Some(window.used(now)),
            next: window.free_at(None, 1, now),
        });
        Ok(paced.into_iter().chain(windows).collect())
    }

    pub(crate) fn key(job: &str) -> String {
        Self::keys_prefix(job)
    }

    /// The key of what the workers of a job share of its limits, but for the keys themselves.
    pub(crate) fn by_key(job: &str) -> String {
        format!("keys/{job}")
    }

    /// The beginning of the keys of what they share of each key. The names of jobs contain no
    /// control characters.
    pub(crate) fn keys_prefix(job: &str) -> String {
        format!("limit {job}\u{1f}")
    }
}
