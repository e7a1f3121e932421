//! [`Job::finish`]: runs steps after each end of a job, in one process.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::job::record::Job;
use crate::job::worker_record::WorkerRecord;
use crate::store::{Store, StoreError};

/// The time after which the right to run the steps expires without a heartbeat.
const LEASE: Duration = Duration::from_secs(30);
/// The interval between two checks for other workers.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A wait for other workers is reported once it has lasted this long.
const REPORTED_AFTER: Duration = Duration::from_secs(1);
/// The name of the worker that runs the steps, in the job's record.
const WORKER: &str = "on_finish";

/// The last end of a job after which steps were run, or are running.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct EndRecord {
    /// Counts the ends of the job as a whole, from 1.
    number: u64,
    /// The job, or the part of it that ended last.
    part: String,
    /// The number of the end of that part.
    end: u64,
    /// The steps have run to their end.
    is_done: bool,
}

impl EndRecord {
    fn is_of(&self, part: &Job) -> bool {
        (self.part.as_str(), self.end) == (&*part.id, part.ends)
    }
}

impl Job {
    /// Records that steps run after each end of this job, so that
    /// [`is_finish_due`](Self::is_finish_due) reports them if the process is killed before them.
    ///
    /// # Errors
    /// The store fails.
    #[doc(hidden)]
    pub async fn expect_finish(store: &dyn Store, id: &str) -> Result<(), StoreError> {
        // An existing record stays as it is.
        store.cas_json(&Self::end_key(id), 0, &EndRecord::default()).await.map(drop)
    }

    /// Returns `true` if the job has ended, steps were [expected](Self::expect_finish) to run after
    /// that, and they have not run to their end. `id` is the id of the job as a whole, if this is a
    /// part of it.
    ///
    /// # Errors
    /// The store cannot be read.
    #[doc(hidden)]
    pub async fn is_finish_due(&self, store: &dyn Store, id: &str) -> Result<bool, StoreError> {
        if self.ended.is_none() || self.ends == 0 {
            return Ok(false);
        }
        let (revision, record) = read(store, id).await?;
        Ok(revision > 0 && !(record.is_of(self) && record.is_done))
    }

    /// Runs steps after an end of this job, in one of the processes that worked on it: the last one
    /// to leave. Returns what they return; `None` if it is not up to this process, or if they have
    /// run to their end already. `id` is the id of the job as a whole, if this is a part of it.
    ///
    /// A worker whose heartbeat is still valid may have been killed. It is waited for until it
    /// renews its heartbeat, so that it will be the last one to leave, or until its heartbeat
    /// expires. `waits_for` is called for each such worker once the wait lasts.
    ///
    /// That the steps have run is recorded after them, so they run at least once: after a crash,
    /// the next call runs them again. They get a key for this end, the id of the job and the number
    /// of the end, which is the same each time. If they return `None`, they were interrupted, and
    /// are due again.
    ///
    /// ```
    /// # use retry_workflow::{SqliteStore, Workflow};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// let import = Workflow::new("import").store(store.clone());
    /// let report = import.run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) }).await?;
    /// let finish = || report.job.finish(&store, "import-1", |_| {}, |key| async { Some(key) });
    /// assert_eq!(finish().await?.as_deref(), Some("import-1/end-1"));
    /// assert_eq!(finish().await?, None, "once");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store fails.
    #[doc(hidden)]
    pub async fn finish<T, F: Future<Output = Option<T>>>(
        &self,
        store: &dyn Store,
        id: &str,
        waits_for: impl Fn(&WorkerRecord),
        steps: impl FnOnce(String) -> F,
    ) -> Result<Option<T>, StoreError> {
        loop {
            if !self.others_leave(store, &waits_for).await? {
                return Ok(None);
            }
            // Another process may have been faster.
            if self.reserve_finish(store).await? {
                break;
            }
        }
        let done = self.finish_reserved(store, id, steps).await;
        Self::update(store, &self.id, |job| {
            job.workers.retain(|worker| !is_own(worker));
            if job.workers.is_empty() {
                job.requested = None;
            }
        })
        .await?;
        done
    }

    async fn finish_reserved<T, F: Future<Output = Option<T>>>(
        &self,
        store: &dyn Store,
        id: &str,
        steps: impl FnOnce(String) -> F,
    ) -> Result<Option<T>, StoreError> {
        let Some(part) = Self::find(store, &self.id).await? else { return Ok(None) };
        let number = loop {
            let (revision, mut record) = read(store, id).await?;
            if record.is_of(&part) {
                if record.is_done {
                    return Ok(None);
                }
                break record.number;
            }
            let number = record.number.saturating_add(1);
            record = EndRecord { number, part: part.id.clone(), end: part.ends, is_done: false };
            if store.cas_json(&Self::end_key(id), revision, &record).await? {
                break number;
            }
        };
        let mut steps = pin!(steps(format!("{id}/end-{number}")));
        let mut heartbeat = pin!(self.renew_finish(store));
        let done = poll_fn(|cx| match steps.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => heartbeat.as_mut().poll(cx).map(|never| match never {}),
        })
        .await;
        while done.is_some() {
            let (revision, mut record) = read(store, id).await?;
            record.is_done = true;
            if !record.is_of(&part) || store.cas_json(&Self::end_key(id), revision, &record).await?
            {
                break;
            }
        }
        Ok(done)
    }

    /// Waits until no other worker of the job is alive; returns `false` if one of them is
    /// certainly alive, or if the job has been resumed.
    async fn others_leave(
        &self,
        store: &dyn Store,
        waits_for: &impl Fn(&WorkerRecord),
    ) -> Result<bool, StoreError> {
        let began = Instant::now();
        let mut known: Option<Vec<WorkerRecord>> = None;
        let mut is_reported = false;
        loop {
            let Some(job) = Self::find(store, &self.id).await? else { return Ok(false) };
            if job.ended.is_none() {
                return Ok(false);
            }
            let now = store.now();
            let live: Vec<_> = job.workers.into_iter().filter(|it| it.is_live(now)).collect();
            let Some(first) = live.iter().map(|worker| worker.until).min() else { return Ok(true) };
            match &known {
                Some(known) if live.iter().any(|worker| !known.contains(worker)) => {
                    return Ok(false);
                }
                Some(_) if !is_reported && began.elapsed() >= REPORTED_AFTER => {
                    live.iter().for_each(waits_for);
                    is_reported = true;
                }
                _ => {}
            }
            known.get_or_insert(live);
            tokio::time::sleep(first.since(now).min(LOOK_EVERY)).await;
        }
    }

    /// Takes the right to run the steps, unless another worker is alive.
    async fn reserve_finish(&self, store: &dyn Store) -> Result<bool, StoreError> {
        let now = store.now();
        let taken = Self::update(store, &self.id, |job| {
            let is_free = job.ended.is_some() && !job.is_live(now);
            if is_free {
                job.workers.push(WorkerRecord::new(WORKER, now + LEASE));
            }
            is_free
        });
        Ok(taken.await?.unwrap_or(false))
    }

    /// Renews that right for as long as it is polled.
    async fn renew_finish(&self, store: &dyn Store) -> Infallible {
        loop {
            tokio::time::sleep(LEASE / 3).await;
            let until = store.now() + LEASE;
            let renewed = Self::update(store, &self.id, |job| {
                job.workers.iter_mut().filter(|it| is_own(it)).for_each(|it| it.until = until);
            });
            if let Err(error) = renewed.await {
                let job = &*self.id;
                tracing::warn!(job, %error, "cannot renew the lease of `on_finish`");
            }
        }
    }

    pub(crate) fn end_key(id: &str) -> String {
        format!("end/{id}")
    }
}

/// Returns whether this worker is the one that runs the steps in this process.
fn is_own(worker: &WorkerRecord) -> bool {
    worker.worker == WORKER && worker.is_of_this_process()
}

async fn read(store: &dyn Store, id: &str) -> Result<(u64, EndRecord), StoreError> {
    let (revision, record) = store.json(&Job::end_key(id)).await?;
    Ok((revision, record.unwrap_or_default()))
}
