//! [`DeadLetters`]: the items of a store that have failed for good. They are listed,
//! inspected, re-driven, purged, and carried to another store; nothing is ever
//! dropped for its age or its size.

mod exchange;
mod rate;
mod signature;

use std::time::Duration;

pub use self::exchange::{ExportError, ImportError, Imported};
pub use self::rate::{InvalidRate, Rate};
pub use self::signature::SignatureError;
use crate::item::record::{Cursor, Filter, ItemRecord, Page};
use crate::item::summary::Group;
use crate::store::{Store, StoreResult};

/// The dead letters of a store.
///
/// A [`Filter`] selects them; the default one selects all.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use retry_workflow::*;
/// # let store = MemoryStore::new();
/// # let letter = r#"{"job":"orders","id":"17","payload":"{}","correlation":"orders/17","state":"dead",
/// #   "run":0,"attempt":3,"ended":"2026-11-21T08:00:00Z","failure":{"class":"timeout",
/// #   "message":"no answer after 30s","signature":"no answer after <n>s"}}"#.replace('\n', "");
/// # DeadLetters::new(store.clone()).import(letter.as_bytes(), None).await?;
/// use retry_workflow::{DeadLetters, Filter, Redrive};
///
/// let letters = DeadLetters::new(store);
/// for group in letters.stats(&Filter::job("orders")).await? {
///     println!("{} × {}: {}", group.count, group.class, group.signature);
/// }
///
/// let timeouts = Filter::job("orders").class("timeout");
/// let redrive = Redrive::new().max(100).rate("10/s".parse()?);
/// assert_eq!(letters.retry(&timeouts, redrive).await?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct DeadLetters<S> {
    store: S,
}

/// How many items are re-driven at once, and how far apart they become due.
///
/// ```
/// use retry_workflow::Redrive;
///
/// let gently = Redrive::new().max(1_000).rate("10/s".parse().unwrap());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "options do nothing until dead letters are re-driven with them"]
pub struct Redrive {
    max: Option<u64>,
    rate: Option<Rate>,
}

impl Redrive {
    /// Takes back everything that the filter selects, all due at once.
    pub const fn new() -> Self {
        Self { max: None, rate: None }
    }

    /// Limits how many are re-driven. Default: no limit.
    pub const fn max(mut self, items: u64) -> Self {
        self.max = Some(items);
        self
    }

    /// Limits how fast they become due. Default: all at once.
    pub const fn rate(mut self, rate: Rate) -> Self {
        self.rate = Some(rate);
        self
    }
}

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
