//! The tables of a store, and what marks a file as one.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use rusqlite::{Connection, Result};

/// `rtwf` in ASCII: marks a file as a store (`PRAGMA application_id`).
pub(super) const APPLICATION: i64 = 0x7274_7766;

/// The layout that this program reads and writes.
pub(super) static LAYOUT: Layout = Layout::new(&[TABLES]);

/// The tables of a store, as the steps that lead to them.
#[derive(Debug)]
pub(super) struct Layout {
    /// Each step migrates a store to the layout with its number (`PRAGMA user_version`), counted
    /// from 1; the first one starts from an empty file. Released steps never change: a change of
    /// the tables is one more step.
    pub(super) steps: &'static [&'static str],
    /// The columns before the first step, and after each one.
    columns: OnceLock<Vec<BTreeSet<String>>>,
}

impl Layout {
    const fn new(steps: &'static [&'static str]) -> Self {
        Self { steps, columns: OnceLock::new() }
    }

    /// The number of the last step.
    pub(super) fn version(&self) -> usize {
        self.steps.len()
    }

    /// The columns that a file with this number of steps should have, and that are not among those
    /// found in it.
    pub(super) fn missing_columns(
        &self,
        found: &BTreeSet<String>,
        number: usize,
    ) -> Result<Vec<String>> {
        let expected = match self.columns.get() {
            Some(expected) => expected,
            None => {
                let empty = Connection::open_in_memory()?;
                let mut after_steps = vec![BTreeSet::new()];
                for step in self.steps {
                    empty.execute_batch(step)?;
                    after_steps.push(columns(&empty)?);
                }
                self.columns.get_or_init(|| after_steps)
            }
        };
        let Some(expected) = expected.get(number) else { return Ok(Vec::new()) };
        Ok(expected.difference(found).cloned().collect())
    }
}

/// The columns of all tables in a file, as `table.column`.
pub(super) fn columns(connection: &Connection) -> Result<BTreeSet<String>> {
    connection
        .prepare(
            "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c \
             WHERE t.type = 'table'",
        )?
        .query_map((), |row| row.get(0))?
        .collect()
}

/// Columns that are written once (`items`) are kept apart from columns that change with each
/// attempt (`states`): a claim rewrites a few numbers, however large the payload is. Times and
/// durations are in microseconds; a failure is JSON, beside the columns that it is searched by.
///
/// - `jobs`: a job is there as soon as its record exists. `priorities` has one bit for each
///   priority that its items have: a claim goes through these.
/// - `states`: `due` is when a pending item is due, and when the lease of a leased one expires, so
///   that one index (`claimable`) finds both; an item that has ended has none, and leaves the
///   index. `claim_rank` is the queue of an item (`NEW`, `SUSPECT` or `BEGUN`; for a leased one,
///   the queue that it enters if its lease expires) and four times its priority. It is a column
///   because an expression in the index would make each update slower. An item that has ended keeps
///   its priority there.
/// - `failures` has the state and the end of its item, which do not change as long as it has a
///   failure: one index (`alike`) has all that failures are grouped by, so that grouping them does
///   not read their texts.
const TABLES: &str = "
CREATE TABLE jobs (
    job INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    pending INTEGER NOT NULL DEFAULT 0,
    leased INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    worked INTEGER NOT NULL DEFAULT 0,
    waited INTEGER NOT NULL DEFAULT 0,
    priorities INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE workers (
    worker INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
CREATE TABLE items (
    item INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    id TEXT NOT NULL,
    correlation TEXT,
    payload TEXT NOT NULL,
    UNIQUE (job, id)
);
CREATE TABLE states (
    item INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    state INTEGER NOT NULL,
    due INTEGER,
    token INTEGER NOT NULL,
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    worker INTEGER,
    started INTEGER,
    ended INTEGER,
    checkpoint TEXT,
    output TEXT,
    dropped INTEGER NOT NULL DEFAULT 0,
    claim_rank INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX claimable ON states (job, claim_rank, due) WHERE due IS NOT NULL;
CREATE INDEX failed ON states (job) WHERE state >= 3;
CREATE INDEX skipped ON states (job) WHERE state >= 4;
CREATE TABLE history (
    item INTEGER NOT NULL,
    token INTEGER NOT NULL,
    part INTEGER NOT NULL,
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    started INTEGER NOT NULL,
    duration INTEGER NOT NULL,
    wait INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    step TEXT,
    failure TEXT,
    output TEXT,
    PRIMARY KEY (item, token, part)
) WITHOUT ROWID;
CREATE TABLE failures (
    item INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    state INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    class TEXT NOT NULL,
    signature TEXT NOT NULL,
    failure TEXT NOT NULL
);
CREATE INDEX alike ON failures (job, signature, class, state, ended);
CREATE INDEX left_out ON failures (item) WHERE state >= 4;
CREATE TABLE vals (
    key TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE clock (
    one INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    running INTEGER NOT NULL,
    boot TEXT
);
";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::item::clock::Timestamp;
    use crate::item::record::NewItem;
    use crate::store::sqlite::{SqliteOptions, check};
    use crate::store::{SqliteStore, Store, StoreError};

    /// A later program, with a step that exists only here.
    static NEXT: Layout =
        Layout::new(&[TABLES, "ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT 'ada';"]);

    fn later(layout: &'static Layout) -> SqliteOptions {
        SqliteOptions { layout, ..SqliteOptions::default() }
    }

    async fn store_of_this_layout(path: &Path) {
        let items = vec![NewItem::new("a", "1"), NewItem::new("b", "2")];
        let store = SqliteStore::open(path).unwrap();
        assert_eq!(store.enqueue("job", items, Timestamp::default()).await, Ok(2));
    }

    fn owner(path: &Path) -> Result<String> {
        Connection::open(path)?.query_row("SELECT owner FROM jobs", (), |row| row.get(0))
    }

    #[tokio::test]
    async fn second_step_migrates_a_store_and_keeps_its_items() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        store_of_this_layout(&path).await;
        let before = std::fs::read(&path).unwrap();
        let check = || check::check(&path, &later(&NEXT).read_only(true)).unwrap();
        assert_eq!((check().layout, check().newest, check().items), (1, 2, 2));
        assert!(std::fs::read(&path).unwrap() == before, "a check changes nothing");

        // Opening for reading only migrates too.
        let store = later(&NEXT).read_only(true).open(&path).unwrap();
        assert_eq!(store.counts("job").await.unwrap().pending, 2);
        drop(store);
        assert_eq!(owner(&path).unwrap(), "ada");
        assert_eq!((check().layout, check().items, check().is_sound()), (2, 2, true));

        // The program that knows only the first step refuses the file.
        let refused = StoreError::Newer { path: path.clone(), found: 2, known: 1 };
        assert_eq!(SqliteStore::open(&path).unwrap_err(), refused);
        assert_eq!(SqliteStore::check(&path).unwrap_err(), refused);
    }

    #[tokio::test]
    async fn concurrent_migrations_take_each_step_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        store_of_this_layout(&path).await;
        std::thread::scope(|scope| {
            let one = || scope.spawn(|| drop(later(&NEXT).open(&path).unwrap()));
            [one(), one(), one()].map(|thread| thread.join().unwrap())
        });
        assert_eq!(owner(&path).unwrap(), "ada");
        let check = check::check(&path, &later(&NEXT).read_only(true)).unwrap();
        assert_eq!((check.layout, check.is_sound()), (2, true));
    }

    #[tokio::test]
    async fn failed_step_leaves_the_store_as_it_was() {
        static FAILS: Layout = Layout::new(&[
            TABLES,
            "ALTER TABLE jobs ADD COLUMN owner TEXT; CREATE UNIQUE INDEX one ON items (job);",
        ]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        store_of_this_layout(&path).await;
        let error = later(&FAILS).open(&path).unwrap_err();
        assert!(error.to_string().contains("UNIQUE constraint failed"), "{error}");
        assert!(owner(&path).is_err(), "the first statement of the step was rolled back");
        let check = SqliteStore::check(&path).unwrap();
        assert_eq!((check.layout, check.items, check.is_sound()), (1, 2, true));
    }
}
