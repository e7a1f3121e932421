//! The recent durations of a job's attempts, by step.

use std::time::Duration;

use retry_workflow::store::{Durations, StepDurations};
use retry_workflow::{Store, StoreError, Timestamp};
use serde::{Serialize, Serializer};

/// The period that is looked at.
const RECENT: Duration = Duration::from_secs(10 * 60);

/// The steps, in the order of their names; attempts as a whole come first.
#[derive(Debug, Serialize)]
pub(crate) struct StepTable {
    pub(crate) steps: Vec<StepLine>,
    /// The time span that they cover, in seconds.
    pub(crate) span: u64,
}

/// One step. The percentiles are estimates, at most 23 % off.
#[derive(Debug, Serialize)]
pub(crate) struct StepLine {
    /// `None`: attempts as a whole.
    pub(crate) step: Option<String>,
    /// The number of attempts that ended, including those that failed.
    pub(crate) attempts: u64,
    /// In seconds, like those below.
    #[serde(serialize_with = "seconds")]
    pub(crate) median: Duration,
    #[serde(serialize_with = "seconds")]
    pub(crate) p95: Duration,
    #[serde(serialize_with = "seconds")]
    pub(crate) p99: Duration,
}

fn seconds<S: Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(took.as_secs_f64())
}

impl StepTable {
    /// Loads what ended in the minutes before `end`; `None` if nothing did.
    pub(crate) async fn load(
        store: &dyn Store,
        job: &str,
        end: Timestamp,
    ) -> Result<Option<Self>, StoreError> {
        let durations = store.durations(job, end - RECENT).await?;
        Ok(Self::new(&durations))
    }

    fn new(durations: &Durations) -> Option<Self> {
        let steps: Vec<_> = durations.steps().iter().filter_map(StepLine::new).collect();
        (!steps.is_empty()).then_some(Self { steps, span: RECENT.as_secs() })
    }
}

impl StepLine {
    fn new(one: &StepDurations) -> Option<Self> {
        Some(Self {
            step: one.step.clone(),
            attempts: one.took.count(),
            median: one.took.percentile(50)?,
            p95: one.took.percentile(95)?,
            p99: one.took.percentile(99)?,
        })
    }
}
