//! The wait of a job for the end of another one: [`Job::awaited_succeeds`], and what it reads.

use std::future::Future;
use std::time::Duration;

use crate::item::clock::Timestamp;
use crate::item::failure::LATE;
use crate::item::record::{Filter, ItemState};
use crate::job::record::after::{After, JobEnd};
use crate::job::record::{Job, JobStatus};
use crate::store::{Store, StoreError};

/// The interval at which another job is checked for success.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Job {
    /// Waits until the job that this one [begins after](Self::awaited) has succeeded, or finished
    /// if that is [enough](Self::after_status). Reports each other end once.
    ///
    /// `is_whole` is called with the id of a job that has done so with all of its items, and
    /// returns whether there is nothing else to wait for.
    ///
    /// ```
    /// # use retry_workflow::{Job, MemoryStore, Workflow};
    /// # use retry_workflow::job::After;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemoryStore::new();
    /// let import = Workflow::new("import").store(store.clone());
    /// import.run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) }).await?;
    /// Job::create(&store, "export", None).await?;
    /// Job::set_after(&store, "export-1", Some(&After::new("import"))).await?;
    /// let export = Job::get(&store, "export-1").await?;
    /// let report = |job: &str, end| println!("{job}: {end}");
    /// export.awaited_succeeds(&store, |_| async { Ok(true) }, report).await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn awaited_succeeds<W>(
        &self,
        store: &dyn Store,
        is_whole: impl Fn(String) -> W,
        report: impl Fn(&str, JobEnd),
    ) where
        W: Future<Output = Result<bool, StoreError>>,
    {
        let mut reported = None;
        let mut has_reached = async || {
            let Some((Self { id, .. }, end)) = self.awaited_end(store).await? else {
                return Ok(false);
            };
            if end.is_some_and(|end| self.after_status.is_reached(end)) {
                return is_whole(id).await;
            }
            let ended = end.map(|end| (id, end));
            if let Some((id, end)) = ended.as_ref().filter(|_| reported != ended) {
                report(id, *end);
            }
            reported = ended;
            Ok::<_, StoreError>(false)
        };
        // A store that cannot be read now may be later.
        while !matches!(has_reached().await, Ok(true)) {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Returns the job that has to end before this one begins, as far as there is one now.
    ///
    /// ```
    /// # use retry_workflow::{Job, MemoryStore};
    /// # use retry_workflow::job::After;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemoryStore::new();
    /// Job::create(&store, "export", None).await?;
    /// Job::set_after(&store, "export-1", Some(&After::new("import"))).await?;
    /// let export = Job::get(&store, "export-1").await?;
    /// assert_eq!(export.awaited(&store).await?, None);
    /// Job::create(&store, "import", None).await?;
    /// assert_eq!(export.awaited(&store).await?.unwrap().id, "import-1");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn awaited(&self, store: &dyn Store) -> Result<Option<Self>, StoreError> {
        let Some(after) = &self.after else { return Ok(None) };
        Self::newest_since(store, after, self.after_since).await
    }

    /// Returns the job that has to end before this one begins, and its end, if it has ended.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn awaited_end(
        &self,
        store: &dyn Store,
    ) -> Result<Option<(Self, Option<JobEnd>)>, StoreError> {
        let Some(job) = self.awaited(store).await? else { return Ok(None) };
        let end = job.end(store).await?;
        Ok(Some((job, end)))
    }

    /// Records in a job that another one has to end first. Nothing happens if the job does not
    /// exist. A process that runs the job waits only if it has the setting as well:
    /// [`JobRunner::after`](crate::JobRunner::after).
    ///
    /// # Errors
    /// The store fails.
    pub async fn set_after(
        store: &dyn Store,
        id: &str,
        after: Option<&After>,
    ) -> Result<(), StoreError> {
        Self::update(store, id, |job| job.begins_after(after)).await.map(drop)
    }

    pub(crate) fn begins_after(&mut self, after: Option<&After>) {
        let of = after.map(|after| after.of(self.created));
        self.after = of.map(|(job, ..)| job.to_owned());
        self.after_since = of.and_then(|(_, since, _)| since);
        self.after_status = of.map(|(.., status)| status).unwrap_or_default();
    }

    /// Returns `true` if a job has succeeded with all of its items: the job with this id, or else
    /// the newest job of this name. A job of which items were skipped as late has not.
    ///
    /// ```
    /// # use retry_workflow::{Job, MemoryStore, Workflow};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemoryStore::new();
    /// assert!(!Job::has_succeeded(&store, "import").await?, "no such job");
    /// let import = Workflow::new("import").store(store.clone());
    /// import.run(1..=3_u32, |_: u32, _| async { Ok::<_, String>(()) }).await?;
    /// assert!(Job::has_succeeded(&store, "import").await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn has_succeeded(store: &dyn Store, job: &str) -> Result<bool, StoreError> {
        let Some(job) = Self::newest_since(store, job, None).await? else { return Ok(false) };
        let end = job.end(store).await?;
        Ok(end.is_some_and(|end| end.is_success()))
    }

    /// Returns how this job has ended, if it has.
    ///
    /// ```
    /// # use retry_workflow::{Job, MemoryStore, Workflow};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemoryStore::new();
    /// let import = Workflow::new("import").store(store.clone());
    /// import.run(1..=3_u32, |_: u32, _| async { Err::<(), _>("404") }).await?;
    /// let end = Job::get(&store, "import-1").await?.end(&store).await?;
    /// assert_eq!(end.unwrap().to_string(), "it finished with 3 dead letters");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn end(&self, store: &dyn Store) -> Result<Option<JobEnd>, StoreError> {
        let counts = store.counts(&self.id).await?;
        let stopped = matches!(self.status, JobStatus::Stopped { .. });
        if self.status == JobStatus::Running || (counts.unfinished() > 0 && !stopped) {
            return Ok(None);
        }
        let late = match counts.skipped {
            0 => 0,
            _ => store.stats(&late(&self.id)).await?.iter().map(|group| group.count).sum(),
        };
        Ok(Some(JobEnd { stopped, dead: counts.dead, late, cut_short: self.is_cut_short }))
    }

    /// Finds the job with this id, or else the newest one of this name; not one that is older than
    /// `since`.
    async fn newest_since(
        store: &dyn Store,
        job: &str,
        since: Option<Timestamp>,
    ) -> Result<Option<Self>, StoreError> {
        let is_new = |job: &Self| since.is_none_or(|since| job.created >= since);
        if let Some(job) = Self::find(store, job).await?.filter(is_new) {
            return Ok(Some(job));
        }
        let all = Self::all(store).await?.into_iter();
        Ok(all.filter(|one| one.name == job && is_new(one)).max_by_key(|one| one.created))
    }
}

/// The items of a job that were skipped because they had not begun in time.
fn late(job: &str) -> Filter {
    Filter::job(job).states([ItemState::Skipped]).class(LATE)
}
