//! What is done with dead letters daily: list, show, count, re-drive, purge.

use std::time::Duration;

use super::DeadLetters;
use super::rate::Rate;
use super::redrive::Redrive;
use crate::item::record::{Cursor, Filter, ItemRecord, Page};
use crate::item::summary::Group;
use crate::store::{Store, StoreResult};

/// In bytes of payloads: a page that is as large as this ends.
const LARGEST_PAGE: usize = 16 * 1024 * 1024;

impl<S: Store> DeadLetters<S> {
    /// Creates a handle on the dead letters of this store.
    pub const fn new(store: S) -> Self {
        Self { store }
    }

    /// Returns the store.
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Returns the first `max` after `after`, in the order in which items were added,
    /// without histories; fewer where their payloads are large.
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
        // A store looks at so many items in a call, whether or not it finds one.
        while let Some(next) = page.next
            && page.items.len() < max
            && page.items.iter().map(|item| item.payload.len()).sum::<usize>() < LARGEST_PAGE
        {
            let more = self.store.list(filter, Some(next), max - page.items.len()).await?;
            page.items.extend(more.items);
            page.next = more.next;
        }
        Ok(page)
    }

    /// Returns all that is known about an item, whatever its state: all runs, all
    /// attempts.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn show(&self, job: &str, id: &str) -> StoreResult<Option<ItemRecord>> {
        self.store.item(job, id).await
    }

    /// Returns their failures, grouped by likeness; the largest group first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn stats(&self, filter: &Filter) -> StoreResult<Vec<Group>> {
        self.store.stats(filter).await
    }

    /// Returns how many there are.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn count(&self, filter: &Filter) -> StoreResult<u64> {
        let groups = self.store.stats(filter).await?;
        Ok(groups.iter().fold(0, |sum, group| sum.saturating_add(group.count)))
    }

    /// Takes items back, and returns how many: each begins a new run with all its attempts
    /// and a fresh budget, and keeps its history and its correlation id. A worker of the
    /// job, now or later, does the rest.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn retry(&self, filter: &Filter, redrive: Redrive) -> StoreResult<u64> {
        let every = redrive.rate.map_or(Duration::ZERO, Rate::every);
        self.store.redrive(filter, redrive.max, self.store.now(), every).await
    }

    /// Empties items for good, and returns how many: payload, history and failure are
    /// gone. Their ids stay, as skipped, so that they are not added to the job again.
    ///
    /// # Errors
    /// The store cannot be written.
    pub async fn purge(&self, filter: &Filter) -> StoreResult<u64> {
        self.store.purge(filter).await
    }
}
