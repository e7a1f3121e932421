//! The jobs of a store, page by page: state, rate, and estimated time left.

use retry_workflow::store::Cursor;
use retry_workflow::words::{cut, percent};
use retry_workflow::{Counts, Job, JobStatus, Store, StoreError, Timestamp};
use serde::Serialize;

use super::bounded;
use super::samples::{Sample, Samples, rate};

/// The number of jobs on a page.
pub(crate) const PAGE: usize = 50;

/// A page of jobs, newest first.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names of the JSON")]
pub(crate) struct Jobs {
    pub(crate) jobs: Vec<JobLine>,
    /// The cursor of the next page.
    pub(crate) next: Option<Cursor>,
    /// Set if there are newer jobs.
    #[serde(skip)]
    pub(crate) is_later: bool,
    /// The current time, from the store's clock.
    pub(crate) now: Timestamp,
}

/// A job as one line of a list.
#[derive(Debug, Serialize)]
pub(crate) struct JobLine {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) status: &'static str,
    /// The reason why it stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Set if a process is working on it, as far as the store knows.
    pub(crate) has_worker: bool,
    /// The job, to say how it is resumed.
    #[serde(skip)]
    pub(crate) record: Job,
    pub(crate) created: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Timestamp>,
    /// Set if all of its items are known.
    pub(crate) input_complete: bool,
    pub(crate) counts: Counts,
    /// The recent rate at which items end, while the job is watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) items_per_minute: Option<f64>,
    /// The estimated time left at that rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds_left: Option<u64>,
}

impl Jobs {
    pub(crate) async fn load(
        store: &dyn Store,
        samples: &Samples,
        after: Option<Cursor>,
    ) -> Result<Self, StoreError> {
        let now = store.now();
        let page = Job::page(store, after, PAGE).await?;
        let line = |(job, counts): (Job, Counts)| {
            let is_running = job.status == JobStatus::Running && counts.unfinished() > 0;
            let samples = if is_running { samples.add(&job.id, &counts, now) } else { Vec::new() };
            JobLine::new(&job, counts, &samples, now)
        };
        let jobs = page.items.into_iter().map(line).collect();
        Ok(Self { jobs, next: page.next, is_later: after.is_some(), now })
    }
}

impl JobLine {
    pub(crate) fn new(job: &Job, counts: Counts, samples: &[Sample], now: Timestamp) -> Self {
        let is_running = job.status == JobStatus::Running && counts.unfinished() > 0;
        let rate = if is_running { rate(samples) } else { None };
        let status = job.status_with(&counts, now);
        Self {
            id: bounded::id(&job.id),
            name: bounded::id(&job.name),
            status: status.as_str(),
            reason: match &status {
                JobStatus::Stopped { reason } => Some(cut(&reason.to_string(), 2_000)),
                _ => None,
            },
            has_worker: job.is_live(now),
            record: job.clone(),
            created: job.created,
            ended: job.ended,
            input_complete: job.input_complete,
            seconds_left: rate.and_then(|rate| seconds(counts.unfinished(), rate)),
            items_per_minute: rate,
            counts,
        }
    }

    /// Returns whether items of it have not ended, or may be added.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.status != "finished" || self.counts.unfinished() > 0
    }

    /// The percentage of items that have ended.
    pub(crate) fn percent(&self) -> u64 {
        percent(self.counts.ended(), self.counts.total())
    }
}

fn seconds(left: u64, per_minute: f64) -> Option<u64> {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let seconds = left as f64 * 60.0 / per_minute;
    let most = 10.0 * 365.0 * 86_400.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between zero and ten years"
    )]
    (seconds.is_finite() && (0.0..most).contains(&seconds)).then_some(seconds.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_recent_rate() {
        assert_eq!(seconds(100, 50.0), Some(120));
        assert_eq!(seconds(1, 0.1), Some(600));
        assert_eq!(seconds(u64::MAX, 0.1), None);
        assert_eq!(seconds(1, 0.0), None);
    }
}
