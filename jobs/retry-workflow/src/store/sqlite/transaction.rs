//! One transaction: the connection, the numbers of names, and the counts of jobs, which are written
//! once when it ends.

pub(super) mod columns;
pub(super) mod tally;

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Result, params_from_iter};

use crate::item::priority::Priorities;
use crate::item::record::{Counts, Filter};
use crate::store::Changes;
use crate::store::sql::{self, Columns};

/// The use of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Numbers that stand for names in the tables. They never change once they are committed.
#[derive(Debug, Default)]
pub(super) struct Names {
    jobs: HashMap<String, i64>,
    workers: HashMap<String, i64>,
}

impl Names {
    /// Forgets all names after a rollback, which may have undone some of them.
    pub(super) fn forget(&mut self) {
        self.jobs.clear();
        self.workers.clear();
    }
}

/// A transaction in progress.
pub(super) struct Transaction<'a> {
    connection: &'a Connection,
    names: &'a mut Names,
    counts: HashMap<i64, Counts>,
    touched: Touched,
}

/// The changes to report to waiting tasks, once the transaction is committed.
#[derive(Debug, Default)]
pub(super) struct Touched {
    jobs: BTreeSet<i64>,
    names: Vec<String>,
    keys: Vec<String>,
}

impl Touched {
    pub(super) fn report(self, changes: &Changes) {
        self.names.iter().for_each(|job| changes.wake(job));
        self.keys.iter().for_each(|key| changes.wake_by_key(key));
    }
}

impl<'a> Transaction<'a> {
    pub(super) fn begin(connection: &Connection, access: Access) -> Result<()> {
        // A transaction that first reads and then wants to write may fail at once, whatever the
        // timeout.
        connection
            .prepare_cached(match access {
                Access::Read => "BEGIN",
                Access::Write => "BEGIN IMMEDIATE",
            })?
            .execute(())?;
        Ok(())
    }

    /// Wraps the transaction that has begun.
    pub(super) fn begun(connection: &'a Connection, names: &'a mut Names) -> Self {
        let (counts, touched) = Default::default();
        Self { connection, names, counts, touched }
    }

    /// Records a change that the workers of a job wait for: see `Store::changed`.
    pub(super) fn touch(&mut self, job: i64) {
        self.touched.jobs.insert(job);
    }

    /// As [`touch`](Self::touch), for the job that a value belongs to.
    pub(super) fn touch_by_key(&mut self, key: &str) {
        self.touched.keys.push(key.to_owned());
    }

    pub(super) fn commit(mut self) -> Result<Touched> {
        let mut touched = std::mem::take(&mut self.touched);
        for job in std::mem::take(&mut touched.jobs) {
            let name = self
                .prepare("SELECT name FROM jobs WHERE job = ?1")?
                .query_row((job,), |row| row.get(0))?;
            touched.names.push(name);
        }
        for (job, counts) in &self.counts {
            let values = std::iter::once(*job).chain(sql::values_of_counts(counts));
            self.prepare(&UPDATE_COUNTS)?.execute(params_from_iter(values))?;
        }
        self.prepare("COMMIT")?.execute(())?;
        Ok(touched)
    }

    /// The priorities that items of a job have.
    pub(super) fn priorities(&self, job: i64) -> Result<Priorities> {
        let bits = self
            .prepare("SELECT priorities FROM jobs WHERE job = ?1")?
            .query_row((job,), |row| row.get(0))?;
        Ok(Priorities::from_bits(bits))
    }

    /// Adds the priorities of new items to the priorities of their job.
    pub(super) fn add_priorities(&self, job: i64, new: Priorities) -> Result<()> {
        if new != Priorities::default() {
            self.prepare("UPDATE jobs SET priorities = priorities | ?2 WHERE job = ?1")?
                .execute((job, new.bits()))?;
        }
        Ok(())
    }

    /// Resets all that is counted of a job.
    pub(super) fn forget(&mut self, job: i64) -> Result<()> {
        self.prepare("UPDATE jobs SET priorities = 0 WHERE job = ?1")?.execute((job,))?;
        self.counts.insert(job, Counts::default());
        Ok(())
    }

    pub(super) fn prepare(&self, sql: &str) -> Result<CachedStatement<'a>> {
        self.connection.prepare_cached(sql)
    }

    pub(super) fn last_number(&self) -> i64 {
        self.connection.last_insert_rowid()
    }

    /// The number of a job, which is added if need be.
    pub(super) fn job(&mut self, name: &str) -> Result<i64> {
        if let Some(job) = self.find_job(name)? {
            return Ok(job);
        }
        self.prepare("INSERT INTO jobs (name) VALUES (?1)")?.execute((name,))?;
        let job = self.last_number();
        self.names.jobs.insert(name.to_owned(), job);
        Ok(job)
    }

    pub(super) fn find_job(&mut self, name: &str) -> Result<Option<i64>> {
        self.find(name, "SELECT job FROM jobs WHERE name = ?1", |names| &mut names.jobs)
    }

    /// The number of the job that a filter names, if it names one; `None` if there is no such job.
    #[expect(clippy::option_option, reason = "no such job is not the same as any job")]
    pub(super) fn job_of(&mut self, filter: &Filter) -> Result<Option<Option<i64>>> {
        let Some(name) = &filter.job else { return Ok(Some(None)) };
        Ok(self.find_job(name)?.map(Some))
    }

    /// The numbers of all jobs, or that of one.
    pub(super) fn one_or_all(&self, job: Option<i64>) -> Result<Vec<i64>> {
        match job {
            Some(job) => Ok(vec![job]),
            None => {
                self.prepare("SELECT job FROM jobs")?.query_map((), |row| row.get(0))?.collect()
            }
        }
    }

    /// The number that stands for a name, from this process or from the table.
    fn find(
        &mut self,
        name: &str,
        sql: &str,
        known: fn(&mut Names) -> &mut HashMap<String, i64>,
    ) -> Result<Option<i64>> {
        if let Some(&number) = known(self.names).get(name) {
            return Ok(Some(number));
        }
        let number = self.prepare(sql)?.query_row((name,), |row| row.get(0)).optional()?;
        if let Some(number) = number {
            known(self.names).insert(name.to_owned(), number);
        }
        Ok(number)
    }

    /// The number of an item.
    pub(super) fn find_item(&self, job: i64, id: &str) -> Result<Option<i64>> {
        self.prepare("SELECT item FROM items WHERE job = ?1 AND id = ?2")?
            .query_row((job, id), |row| row.get(0))
            .optional()
    }

    /// The number of a worker, which is added if need be.
    pub(super) fn worker(&mut self, name: &str) -> Result<i64> {
        let known = "SELECT worker FROM workers WHERE name = ?1";
        if let Some(worker) = self.find(name, known, |names| &mut names.workers)? {
            return Ok(worker);
        }
        self.prepare("INSERT INTO workers (name) VALUES (?1)")?.execute((name,))?;
        let worker = self.last_number();
        self.names.workers.insert(name.to_owned(), worker);
        Ok(worker)
    }

    /// The counts of a job as the transaction found them.
    pub(super) fn committed_counts(&self, job: i64) -> Result<Counts> {
        read_counts(self.connection, job)
    }

    /// The counts of a job, to be changed; they are written when the transaction ends.
    pub(super) fn counts(&mut self, job: i64) -> Result<&mut Counts> {
        use std::collections::hash_map::Entry;

        match self.counts.entry(job) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => Ok(unknown.insert(read_counts(self.connection, job)?)),
        }
    }
}

fn read_counts(connection: &Connection, job: i64) -> Result<Counts> {
    connection
        .prepare_cached(&SELECT_COUNTS)?
        .query_row((job,), |row| sql::counts(&mut Columns::new(row)))
}

static SELECT_COUNTS: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM jobs WHERE job = ?1", sql::COUNTS.join(", ")));

/// The job comes first, and then the counts.
static UPDATE_COUNTS: LazyLock<String> = LazyLock::new(|| {
    let counts = sql::each(&sql::COUNTS, |column| format!("{column} = ?"));
    format!("UPDATE jobs SET job = ?, {counts} WHERE job = ?1")
});
