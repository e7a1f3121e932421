//! [`Heartbeat`]: records in the job that this worker is alive, and finds the ones that are dead.

use std::sync::Arc;
use std::time::Duration;

use crate::item::clock::Timestamp;
use crate::job::record::{Job, PendingRequest, Request};
use crate::job::worker_record::{Throttle, WorkerRecord};
use crate::store::{Store, StoreError};

/// A heartbeat lasts at least this long, even if leases are shorter.
const SHORTEST: Duration = Duration::from_secs(3);

/// This worker, as the job's record lists it.
#[derive(Clone)]
pub(super) struct Heartbeat {
    job: Arc<str>,
    worker: Arc<str>,
    /// The time at which it began: earlier requests are not for this worker.
    since: Timestamp,
    good_for: Duration,
}

/// The state of the job's record.
#[derive(Clone, Debug, Default)]
pub(super) struct Beat {
    /// The number of items that dead workers held.
    pub(super) freed: u64,
    pub(super) request: Option<Request>,
    /// The other workers.
    pub(super) others: Vec<WorkerRecord>,
}

impl Heartbeat {
    pub(super) fn new(
        job: &Arc<str>,
        worker: &Arc<str>,
        since: Timestamp,
        lease: Duration,
    ) -> Self {
        let good_for = lease.max(SHORTEST);
        Self { job: Arc::clone(job), worker: Arc::clone(worker), since, good_for }
    }

    /// Returns how often to renew it.
    pub(super) fn every(&self) -> Duration {
        self.good_for / 3
    }

    /// Renews the heartbeat if that is due or `throttle` has changed, and ends the leases of dead
    /// workers.
    pub(super) async fn beat(
        self,
        store: &dyn Store,
        throttle: Option<Throttle>,
    ) -> Result<Beat, StoreError> {
        let now = store.now();
        let Some(job) = Job::find(store, &self.job).await? else { return Ok(Beat::default()) };
        let is_meant = |pending: &PendingRequest| pending.at >= self.since;
        let request = job.requested.filter(is_meant).map(|pending| pending.request);
        let (dead, others): (Vec<_>, Vec<_>) =
            job.workers.into_iter().partition(WorkerRecord::is_dead);
        // A third of the time has passed.
        let late = now + self.good_for - self.every();
        let (mine, others): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|other| *other.worker == *self.worker);
        let is_late = !mine.iter().any(|mine| mine.until > late && mine.throttle == throttle);
        if dead.is_empty() && !is_late {
            return Ok(Beat { freed: 0, request, others });
        }
        // Before they leave the record: workers that are not in it are not searched for.
        let freed = WorkerRecord::end_leases(store, &self.job, &dead).await?;
        let mut mine = WorkerRecord::new(&self.worker, now + self.good_for);
        mine.throttle = throttle;
        Job::update(store, &self.job, |job| {
            job.workers.retain(|other| {
                let is_old = other.worker == mine.worker || other.is_begun_by(&mine);
                !is_old && !dead.contains(other) && other.until > now
            });
            job.workers.push(mine.clone());
        })
        .await?;
        Ok(Beat { freed, request, others })
    }

    /// Removes this worker from the record.
    pub(super) fn leave(&self, job: &mut Job) {
        job.workers.retain(|other| *other.worker != *self.worker);
        // Every worker that it was meant for has seen it.
        if job.workers.is_empty() {
            job.requested = None;
        }
    }
}
