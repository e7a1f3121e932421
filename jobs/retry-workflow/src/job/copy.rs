//! Copying a job from one store to another, with everything that is known about it.

use futures_util::future::try_join_all;
use thiserror::Error;

use crate::item::clock::Timestamp;
use crate::item::record::{Counts, Filter, ItemState};
use crate::item::sanitize::OneLine;
use crate::job::record::Job;
use crate::store::{Store, StoreError, StoreResult};

/// The number of items that are read and written at once.
const AT_ONCE: usize = 200;

/// The result of [`Job::copy`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// Items that were new to the other store.
    pub new: u64,
    /// Items that it already had, from an incomplete copy.
    pub known: u64,
}

/// The reason why a job was not copied, or not completely.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CopyError {
    /// A process is working on the job.
    #[error("process {process} is working on {}: pause the job, then copy it", OneLine(.job))]
    Running {
        /// The job.
        job: String,
        /// The process.
        process: u32,
    },
    /// The other store has a different job with this id, or the copy has been worked on since.
    #[error(
        "the other store already has a job {}, which is a different one, or has made progress \
         there: remove one of them",
        OneLine(.job)
    )]
    Taken {
        /// The job.
        job: String,
    },
    /// The two stores differ: a worker worked on the job during the copy, or since an earlier
    /// incomplete copy. The partial copy was removed.
    #[error(
        "{} changed while it was being copied, or since an earlier copy of it was started: copy it \
         again while no process works on it (the partial copy has been removed)",
        OneLine(.job)
    )]
    Changed {
        /// The job.
        job: String,
    },
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Job {
    /// Copies a job from one store to another: its items with histories, waits, outputs, dead
    /// letters and checkpoints, its breaker, and all values whose key is a word, `/` and its id. No
    /// worker may work on the job during the copy. Afterwards, [remove](Self::remove) it from the
    /// old store.
    ///
    /// The record of the job is copied last: an incomplete copy is not yet a job of the other
    /// store, and the next copy completes it. The count of consecutive losses of an item starts
    /// over, and the time that attempts of purged items took is lost.
    ///
    /// ```
    /// use retry_workflow::{Job, SqliteStore, Workflow};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (here, there) = (SqliteStore::in_memory(), SqliteStore::in_memory());
    /// let import = Workflow::new("import").store(here.clone());
    /// import.run(0..3_u32, |_, _| async { Ok::<_, String>(()) }).await?;
    ///
    /// let job = Job::get(&here, "import-1").await?;
    /// assert_eq!(job.copy(&here, &there).await?.new, 3);
    /// assert_eq!(Job::get(&there, "import-1").await?.status, job.status);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A worker works on the job, or did so during the copy; the other store has a different job
    /// with this id; one of the stores fails.
    pub async fn copy(&self, from: &dyn Store, to: &dyn Store) -> Result<Copied, CopyError> {
        let id = self.id.clone();
        let now = from.now();
        if let Some(worker) = self.workers.iter().find(|worker| worker.is_live(now)) {
            return Err(CopyError::Running { job: id, process: worker.process });
        }
        let there = Self::find(to, &id).await?;
        if there.as_ref().is_some_and(|there| there.at_rest() != self.at_rest()) {
            return Err(CopyError::Taken { job: id });
        }
        let is_begun = there.is_none();
        let copied = copy_items(from, to, &id).await?;
        let is_of_job = |key: &str| key.split_once('/').is_some_and(|(_, job)| job == id);
        let mut values = from.values("").await?;
        values.retain(|(key, _)| is_of_job(key) && *key != Self::key(&id));
        for (key, value) in &values {
            to.set(key, value).await?;
        }
        let (here, there) = (from.counts(&id).await?, to.counts(&id).await?);
        let is_same = |one: &Counts, other: &Counts| {
            (one.unfinished(), one.succeeded, one.dead, one.skipped)
                == (other.unfinished(), other.succeeded, other.dead, other.skipped)
        };
        let unchanged = Self::find(from, &id).await?.is_some_and(|job| job == *self);
        if !unchanged || !is_same(&here, &there) {
            if is_begun {
                Self::remove(to, &id, values.into_iter().map(|(key, _)| key)).await?;
            }
            return Err(CopyError::Changed { job: id });
        }
        to.set(&Self::key(&id), &self.at_rest().json()?).await?;
        Ok(copied)
    }

    /// The job without what applies to one store only.
    fn at_rest(&self) -> Self {
        Self { workers: Vec::new(), requested: None, ..self.clone() }
    }
}

/// Copies items in the order in which they were added.
async fn copy_items(from: &dyn Store, to: &dyn Store, job: &str) -> StoreResult<Copied> {
    let all = Filter::job(job).states(ItemState::ALL);
    let mut copied = Copied::default();
    let mut after = None;
    loop {
        let page = from.list(&all, after, AT_ONCE).await?;
        // With their histories, and all at once: one after another, each would wait for a server.
        let items = page.items.iter().map(|item| from.item(&item.job, &item.id));
        let items: Vec<_> = try_join_all(items).await?.into_iter().flatten().collect();
        let read = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let mut new = 0;
        // Items that the import makes pending are due at the time passed to it.
        for batch in items.chunk_by(|one, other| one.due == other.due || other.due.is_none()) {
            let due = batch.iter().find_map(|item| item.due).unwrap_or(Timestamp::NEVER);
            new += to.import(batch.to_vec(), due).await?;
        }
        copied.new += new;
        copied.known += read.saturating_sub(new);
        after = page.next;
        if after.is_none() {
            return Ok(copied);
        }
    }
}
