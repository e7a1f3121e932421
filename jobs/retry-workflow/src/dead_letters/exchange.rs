//! Dead letters in a file, one JSON object per line, each with its whole history: written page by
//! page, read in batches.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};

use thiserror::Error;

use super::DeadLetters;
use crate::item::record::{Cursor, Filter, ItemRecord, Page};
use crate::job::record::Job;
use crate::store::{StoreError, StoreResult};

/// The number of items held in memory at a time.
const BATCH: usize = 200;

/// The number of items that are exported at once.
const PAGE: usize = 100;

/// The outcome of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// The number of items that were added.
    pub new: u64,
    /// The number of items that were there already, by job and id, and were left unchanged.
    pub known: u64,
}

/// The reason why an import ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// A line is not an item.
    #[error("line {line}: {problem}; {}", effect(.before))]
    Line {
        /// Its number; the first is 1.
        line: u64,
        /// The mistake in it.
        problem: String,
        /// The counts of the lines imported before it.
        before: Imported,
    },
    /// The lines cannot be read.
    #[error("line {line} cannot be read")]
    Read {
        /// The number of the line.
        line: u64,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Describes what was imported before a line that is not an item.
fn effect(before: &Imported) -> String {
    match before.new.saturating_add(before.known) {
        0 => "nothing was imported".to_owned(),
        read => format!(
            "the {read} items before it were imported: fix the line and import the file again \
             (items that are already there are left unchanged)"
        ),
    }
}

impl DeadLetters {
    /// Writes items with their histories, one JSON object per line, and returns how many.
    ///
    /// An item that is settled or re-driven in the meantime is written as it is when its turn
    /// comes, or left out.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use retry_workflow::*;
    /// let here = DeadLetters::new(SqliteStore::in_memory());
    /// let there = DeadLetters::new(SqliteStore::in_memory());
    /// let mut file = Vec::new();
    /// here.export(&Filter::all(), &mut file).await?;
    /// there.import(file.as_slice(), None).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read, or `to` cannot be written.
    pub async fn export(&self, filter: &Filter, mut to: impl Write) -> Result<u64, ExportError> {
        let (mut count, mut after) = (0_u64, None);
        loop {
            let page = self.exported_page(filter, after).await?;
            for line in &page.items {
                to.write_all(line)?;
                count = count.saturating_add(1);
            }
            after = page.next;
            if after.is_none() {
                to.flush()?;
                return Ok(count);
            }
        }
    }

    /// Returns a page of the lines that [`export`](Self::export) writes.
    #[doc(hidden)]
    pub async fn exported_page(
        &self,
        filter: &Filter,
        after: Option<Cursor>,
    ) -> StoreResult<Page<Vec<u8>>> {
        let listed = self.list(filter, after, PAGE).await?;
        let mut page = Page { items: Vec::new(), next: listed.next };
        for item in listed.items {
            let item = self.show(&item.job, &item.id).await?;
            if let Some(item) = item.filter(|item| filter.wants(item)) {
                let mut line = serde_json::to_vec(&item).map_err(StoreError::other)?;
                line.push(b'\n');
                page.items.push(line);
            }
        }
        Ok(page)
    }

    /// Adds items from lines of JSON, histories included, each to the job that it names or
    /// to `into_job`; an unknown job is created. Items that the job already has are left
    /// unchanged, even those that it has purged.
    ///
    /// Lines are imported in batches of 200: a bad line ends the import, and the batches
    /// before it stay. That does no harm, because the same lines may be imported again;
    /// [`check`](Self::check) finds a bad line before anything is imported.
    ///
    /// ```
    /// # use retry_workflow::{DeadLetters, SqliteStore};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let line = r#"{"job":"orders","id":"17","payload":"{}","correlation":"orders/17","state":"dead",
    /// #   "run":0,"attempt":3,"ended":"2026-11-21T08:00:00Z","failure":{"class":"timeout",
    /// #   "message":"no answer after 30s","signature":"no answer after <n>s"}}"#.replace('\n', "");
    /// // One line of JSON for each item, as `export` writes them.
    /// let letters = DeadLetters::new(SqliteStore::in_memory());
    /// let imported = letters.import(line.as_bytes(), Some("orders-again")).await?;
    /// assert_eq!((imported.new, imported.known), (1, 0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A line is not an item (with its number), the lines cannot be read, or the store
    /// cannot be written.
    pub async fn import(
        &self,
        from: impl BufRead,
        into_job: Option<&str>,
    ) -> Result<Imported, ImportError> {
        let mut imported = Imported::default();
        let mut lines = ItemLines { from, line: 0, text: Vec::new() };
        loop {
            let mut batch = Vec::new();
            while batch.len() < BATCH {
                let mut item = match lines.next_item() {
                    Ok(Some(item)) => item,
                    Ok(None) => break,
                    Err(ImportError::Line { line, problem, .. }) => {
                        return Err(ImportError::Line { line, problem, before: imported });
                    }
                    Err(error) => return Err(error),
                };
                if let Some(job) = into_job {
                    job.clone_into(&mut item.job);
                }
                batch.push(item);
            }
            if batch.is_empty() {
                return Ok(imported);
            }
            let read = u64::try_from(batch.len()).unwrap_or(u64::MAX);
            let jobs: BTreeSet<String> = batch.iter().map(|item| item.job.clone()).collect();
            let new = self.store.import(batch, self.store.now()).await?;
            for job in jobs {
                Job::adopt(&*self.store, &job).await?;
            }
            imported.new = imported.new.saturating_add(new);
            imported.known = imported.known.saturating_add(read.saturating_sub(new));
        }
    }

    /// Reads lines as [`import`](Self::import) would, and returns how many items there
    /// are. Nothing is imported.
    ///
    /// # Errors
    /// A line is not an item (with its number), or the lines cannot be read.
    pub fn check(from: impl BufRead) -> Result<u64, ImportError> {
        let mut lines = ItemLines { from, line: 0, text: Vec::new() };
        let mut items: u64 = 0;
        while lines.next_item()?.is_some() {
            items = items.saturating_add(1);
        }
        Ok(items)
    }
}

/// The reason why an export ended early.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The lines cannot be written.
    #[error("cannot write the export")]
    Write(#[from] io::Error),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The items of a file, line by line.
struct ItemLines<R> {
    from: R,
    line: u64,
    text: Vec<u8>,
}

impl<R: BufRead> ItemLines<R> {
    fn next_item(&mut self) -> Result<Option<ItemRecord>, ImportError> {
        loop {
            self.text.clear();
            self.line = self.line.saturating_add(1);
            let line = self.line;
            let read = self
                .from
                .read_until(b'\n', &mut self.text)
                .map_err(|error| ImportError::Read { line, error })?;
            if read == 0 {
                return Ok(None);
            }
            let bad = |problem| ImportError::Line { line, problem, before: Imported::default() };
            let text = std::str::from_utf8(&self.text)
                .map_err(|_| bad("is not UTF-8 text, so `export` did not write it".to_owned()))?;
            // Some editors put a byte order mark at the beginning of a file.
            let text = text.trim_start_matches('\u{feff}').trim();
            if !text.is_empty() {
                return item(text).map(Some).map_err(bad);
            }
        }
    }
}

/// Reads an item from a line, or returns what is wrong with the line.
fn item(text: &str) -> Result<ItemRecord, String> {
    let item: ItemRecord = serde_json::from_str(text)
        .map_err(|error| format!("{}: write items as `export` does", in_line(&error)))?;
    if item.job.is_empty() || item.id.is_empty() {
        return Err("`job` and `id` identify an item and must not be empty".to_owned());
    }
    Ok(item)
}

/// Words an error about one line, for which "at line 1" would be misleading.
fn in_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(message) => format!("{message} at column {}", error.column()),
        None => text,
    }
}
