//! [`RateRecord`]: how far a job has used up its rate, as its workers share it in the store.

use serde::{Deserialize, Serialize};

use crate::item::clock::Timestamp;
use crate::job::rate::Rate;
use crate::store::{Store, StoreError};

/// The rate of a job, and the next start that no worker has reserved.
///
/// A job has one once a worker with a [`rate`](crate::JobRunner::rate) has started an item.
///
/// ```
/// use retry_workflow::job::RateRecord;
/// use retry_workflow::{SqliteStore, Rate, Workflow};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (store, limit) = (SqliteStore::in_memory(), "10/s".parse::<Rate>()?);
/// let import = Workflow::new("import").store(store.clone()).rate(limit);
/// import.run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) }).await?;
/// let record = RateRecord::find(&store, "import-1").await?.unwrap();
/// assert_eq!(record.limit, limit);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RateRecord {
    /// The rate of the worker that reserved the last starts.
    pub limit: Rate,
    /// The first start that is still free; one in the past is free now.
    #[serde(default)]
    pub next: Timestamp,
}

impl RateRecord {
    /// Finds the rate of the job with this id.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn find(store: &dyn Store, job: &str) -> Result<Option<Self>, StoreError> {
        Ok(store.json(&Self::key(job)).await?.1)
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
