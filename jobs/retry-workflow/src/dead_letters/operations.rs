//! Operations on dead letters: list, show, count, re-drive and purge.

use super::DeadLetters;
use super::redrive::{Preview, Redrive};
use crate::item::record::{Cursor, Filter, ItemRecord, ItemState, Page};
use crate::item::summary::Group;
use crate::store::{Alteration, IntoStore, Store, StoreResult, sql};

/// A page ends at this size, in bytes of its texts.
const LARGEST_PAGE: usize = 16 * 1024 * 1024;

impl DeadLetters {
    /// Creates a handle to the dead letters of this store.
    ///
    /// ```
    /// # use retry_workflow::{DeadLetters, Filter, SqliteStore, Workflow, policy};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = SqliteStore::in_memory();
    /// # let import = Workflow::new("orders").store(store.clone()).retry(policy!(attempts = 1));
    /// # import.run([17_u32], |n: u32, _| async move { Err::<(), _>(format!("{n} timed out")) }).await?;
    /// let letters = DeadLetters::new(store);
    /// assert_eq!(letters.count(&Filter::all()).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(store: impl IntoStore) -> Self {
        Self { store: store.into_store() }
    }

    /// Returns the store.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Returns the first `max` dead letters after `after`, in the order in which items were added,
    /// without histories; fewer if their payloads are large.
    ///
    /// ```
    /// # use retry_workflow::{DeadLetters, Filter, SqliteStore, Workflow, policy};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = SqliteStore::in_memory();
    /// # let import = Workflow::new("orders").store(store.clone()).retry(policy!(attempts = 1));
    /// # import.run([17_u32], |n: u32, _| async move { Err::<(), _>(format!("{n} timed out")) }).await?;
    /// let letters = DeadLetters::new(store);
    /// let orders = Filter::job("orders-1");
    /// let mut page = letters.list(&orders, None, 100).await?;
    /// while let Some(next) = page.next {
    ///     page = letters.list(&orders, Some(next), 100).await?;
    /// }
    /// assert_eq!(page.items[0].payload, "17");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn list(
        &self,
        filter: &Filter,
        after: Option<Cursor>,
        max: usize,
    ) -> StoreResult<Page<ItemRecord>> {
        let mut page = self.store.list(filter, after, max).await?;
        // A store looks at a limited number of items per call, and may find none.
        while let Some(next) = page.next
            && page.items.len() < max
            && page.items.iter().map(sql::size).sum::<usize>() < LARGEST_PAGE
        {
            let more = self.store.list(filter, Some(next), max - page.items.len()).await?;
            page.items.extend(more.items);
            page.next = more.next;
        }
        Ok(page)
    }

    /// Returns all that is known about an item, whatever its state: all runs and all attempts.
    ///
    /// ```
    /// # use retry_workflow::{DeadLetters, Filter, SqliteStore, Workflow, policy};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = SqliteStore::in_memory();
    /// # let import = Workflow::new("orders").store(store.clone()).retry(policy!(attempts = 1));
    /// # import.run([17_u32], |n: u32, _| async move { Err::<(), _>(format!("{n} timed out")) }).await?;
    /// let letters = DeadLetters::new(store);
    /// let page = letters.list(&Filter::all(), None, 1).await?;
    /// let letter = letters.show("orders-1", &page.items[0].id).await?.unwrap();
    /// assert_eq!(letter.history.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn show(&self, job: &str, id: &str) -> StoreResult<Option<ItemRecord>> {
        self.store.item(job, id).await
    }

    /// Returns the failures of dead letters, grouped by class and signature, the largest group
    /// first.
    ///
    /// ```
    /// # use retry_workflow::{DeadLetters, Filter, SqliteStore, Workflow, policy};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = SqliteStore::in_memory();
    /// # let import = Workflow::new("orders").store(store.clone()).retry(policy!(attempts = 1));
    /// # import.run([17_u32], |n: u32, _| async move { Err::<(), _>(format!("{n} timed out")) }).await?;
    /// let letters = DeadLetters::new(store);
    /// let groups = letters.stats(&Filter::job("orders-1")).await?;
    /// assert_eq!((groups[0].count, groups[0].signature.as_str()), (1, "<n> timed out"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn stats(&self, filter: &Filter) -> StoreResult<Vec<Group>> {
        self.store.stats(filter, None).await
    }

    /// Returns how many dead letters the filter selects. Cheap for those of a job or of all jobs, also
    /// in the states that it names.
    ///
    /// ```
    /// # use retry_workflow::{DeadLetters, Filter, SqliteStore, Workflow, policy};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = SqliteStore::in_memory();
    /// # let import = Workflow::new("orders").store(store.clone()).retry(policy!(attempts = 1));
    /// # import.run([17_u32], |n: u32, _| async move { Err::<(), _>(format!("{n} timed out")) }).await?;
    /// let letters = DeadLetters::new(store);
    /// assert_eq!(letters.count(&Filter::job("orders-1")).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn count(&self, filter: &Filter) -> StoreResult<u64> {
        let (job, states) = (filter.job.clone(), filter.states.clone());
        if *filter != (Filter { job, states, ..Filter::default() }) {
            let groups = self.store.stats(filter, None).await?;
            return Ok(groups.iter().fold(0, |sum, group| sum.saturating_add(group.count)));
        }
        let (dead, skipped) = match &filter.job {
            Some(job) => {
                self.store.counts(job).await.map(|counts| (counts.dead, counts.skipped))?
            }
            None => self.store.failures().await?,
        };
        let counts = [(ItemState::Dead, dead), (ItemState::Skipped, skipped)];
        let meant = counts.into_iter().filter(|(state, _)| filter.wants_state(*state));
        Ok(meant.fold(0, |sum, (_, count)| sum.saturating_add(count)))
    }

    /// Returns what a re-drive of these items would do, without doing it.
    ///
    /// ```
    /// # use retry_workflow::{DeadLetters, Filter, SqliteStore, Redrive, Workflow, policy};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = SqliteStore::in_memory();
    /// # let import = Workflow::new("orders").store(store.clone()).retry(policy!(attempts = 1));
    /// # import.run([17_u32, 18], |n: u32, _| async move { Err::<(), _>(format!("{n} timed out")) }).await?;
    /// let letters = DeadLetters::new(store);
    /// let gently = Redrive::new().rate("10/s".parse()?);
    /// assert_eq!(
    ///     letters.preview(Filter::job("orders-1"), gently).await?.to_string(),
    ///     "2 items would be re-driven; at 10/s, the last one is due after 100ms",
    /// );
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn preview(
        &self,
        filters: impl AsRef<[Filter]>,
        redrive: Redrive,
    ) -> StoreResult<Preview> {
        let mut selected: u64 = 0;
        for filter in filters.as_ref() {
            selected = selected.saturating_add(self.count(filter).await?);
        }
        Ok(redrive.preview(selected))
    }

    /// Re-drives items, and returns how many: each begins a new run with all its attempts
    /// and a fresh budget, and keeps its history and its correlation id. A worker of the
    /// job, now or later, does the rest.
    ///
    /// Items of several filters (`&[…]`) are re-driven one after another, together at the rate.
    ///
    /// ```
    /// # use retry_workflow::{DeadLetters, Filter, SqliteStore, Redrive, Workflow, policy};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = SqliteStore::in_memory();
    /// # let import = Workflow::new("orders").store(store.clone()).retry(policy!(attempts = 1));
    /// # import.run([17_u32], |n: u32, _| async move { Err::<(), _>(format!("{n} timed out")) }).await?;
    /// let letters = DeadLetters::new(store);
    /// let gently = Redrive::new().max(1_000).rate("10/s".parse()?);
    /// assert_eq!(letters.retry(Filter::job("orders-1"), gently).await?, 1);
    /// assert_eq!(letters.count(&Filter::job("orders-1")).await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn retry(&self, filters: impl AsRef<[Filter]>, redrive: Redrive) -> StoreResult<u64> {
        self.retry_by(filters.as_ref(), redrive, None, |_, _| {}).await
    }

    /// Re-drives items on behalf of a user, if there is one. `done` gets each filter with the
    /// number of its items.
    pub(crate) async fn retry_by(
        &self,
        filters: &[Filter],
        redrive: Redrive,
        by: Option<&str>,
        done: impl Fn(&Filter, u64),
    ) -> StoreResult<u64> {
        let now = self.store.now();
        let mut taken: u64 = 0;
        for filter in filters {
            let left = redrive.max.map_or(u64::MAX, |max| max.saturating_sub(taken));
            if left == 0 {
                break;
            }
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            let from = now + redrive.due_after(taken);
            let (every, by) = (redrive.every(), by.map(ToOwned::to_owned));
            let begin = Alteration::Redrive { every, by, from_failed: redrive.from_failed };
            let redriven = self.store.alter(filter, begin, left, from).await?;
            done(filter, redriven);
            taken += redriven;
        }
        Ok(taken)
    }

    /// Purges items, and returns how many: payload, history and failure are gone. Their ids stay,
    /// as skipped, so that the items are not added to the job again.
    ///
    /// ```
    /// # use retry_workflow::{DeadLetters, Filter, SqliteStore, Workflow, policy};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let store = SqliteStore::in_memory();
    /// # let import = Workflow::new("orders").store(store.clone()).retry(policy!(attempts = 1));
    /// # import.run([17_u32], |n: u32, _| async move { Err::<(), _>(format!("{n} timed out")) }).await?;
    /// let letters = DeadLetters::new(store);
    /// assert_eq!(letters.purge(&Filter::job("orders-1")).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn purge(&self, filter: &Filter) -> StoreResult<u64> {
        self.store.alter(filter, Alteration::Purge, usize::MAX, self.store.now()).await
    }
}
