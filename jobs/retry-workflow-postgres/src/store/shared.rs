//! [`Shared`]: what all handles to a store share, and how statements are run.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use retry_workflow::Timestamp;
use retry_workflow::store::DURATIONS_KEPT;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, RowStream};

use super::clock::ServerClock;
use super::cursors::ClaimCursors;
use super::layout::SHARDS;
use super::waking::Waking;
use crate::server::columns::column;
use crate::server::text::encode;
use crate::server::{PooledClient, PostgresError, Server};

/// The parameters of a statement, in order.
pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The state shared by all handles to a store.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) server: Arc<Server>,
    /// The schema, quoted for SQL, with a dot.
    pub(crate) prefix: String,
    pub(crate) clock: ServerClock,
    pub(crate) cursors: ClaimCursors,
    pub(crate) waking: Waking,
    /// The last hour in which the roll-up was folded.
    folded: AtomicI64,
    /// The last minute in which old durations were deleted.
    tidied: AtomicI64,
    names: Mutex<Names>,
}

/// Numbers that stand for names in the tables. They never change once they are committed.
#[derive(Debug, Default)]
struct Names {
    jobs: HashMap<String, i64>,
    workers: HashMap<String, i64>,
}

impl Shared {
    /// `schema` is quoted for SQL, `plain` is not.
    pub(crate) fn new(
        server: Arc<Server>,
        (schema, plain): (&str, &str),
        clock: ServerClock,
    ) -> Self {
        Self {
            server,
            prefix: format!("{schema}."),
            clock,
            cursors: ClaimCursors::default(),
            waking: Waking::new(plain),
            folded: AtomicI64::new(i64::MIN),
            tidied: AtomicI64::new(i64::MIN),
            names: Mutex::default(),
        }
    }

    /// A statement on the tables of this store: `@` stands for their schema.
    pub(crate) fn sql(&self, text: &str) -> String {
        text.replace('@', &self.prefix)
    }

    pub(crate) async fn query(
        &self,
        client: &PooledClient,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, PostgresError> {
        let statement = client.prepare_cached(&self.sql(sql)).await?;
        Ok(client.query(&statement, values).await?)
    }

    /// As [`query`](Self::query), row by row, however many there are.
    pub(crate) async fn stream(
        &self,
        client: &PooledClient,
        sql: &str,
        values: Values<'_>,
    ) -> Result<RowStream, PostgresError> {
        let statement = client.prepare_cached(&self.sql(sql)).await?;
        Ok(client.query_raw(&statement, values.iter().copied()).await?)
    }

    pub(crate) async fn query_opt(
        &self,
        client: &PooledClient,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Option<Row>, PostgresError> {
        Ok(self.query(client, sql, values).await?.into_iter().next())
    }

    /// The number in the first column of the only row.
    pub(crate) async fn count(
        &self,
        client: &PooledClient,
        sql: &str,
        values: Values<'_>,
    ) -> Result<u64, PostgresError> {
        let row = self.query_opt(client, sql, values).await?;
        let count: i64 = row.map_or(Ok(0), |row| column(&row, 0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    pub(crate) async fn execute(
        &self,
        client: &PooledClient,
        sql: &str,
        values: Values<'_>,
    ) -> Result<u64, PostgresError> {
        let statement = client.prepare_cached(&self.sql(sql)).await?;
        Ok(client.execute(&statement, values).await?)
    }

    /// Since when durations are kept, if it is time to delete older ones: once a minute is enough.
    pub(crate) fn tidies(&self, minute: Timestamp) -> Option<Timestamp> {
        let before = self.tidied.swap(minute.as_micros(), Ordering::Relaxed);
        (before != minute.as_micros()).then(|| minute - DURATIONS_KEPT)
    }

    /// Returns whether it is time to fold the roll-up: once an hour is enough.
    pub(crate) fn folds(&self, hour: Timestamp) -> bool {
        self.folded.swap(hour.as_micros(), Ordering::Relaxed) != hour.as_micros()
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock()
    }

    /// The number of a job, which is added if need be.
    pub(crate) async fn job(
        &self,
        client: &PooledClient,
        name: &str,
    ) -> Result<i64, PostgresError> {
        loop {
            if let Some(job) = self.find_job(client, name).await? {
                return Ok(job);
            }
            // Another process may be faster: the next round finds its row.
            self.add_job(client, name).await?;
        }
    }

    /// Adds a job, unless there is one with this name.
    pub(crate) async fn add_job(
        &self,
        client: &PooledClient,
        name: &str,
    ) -> Result<(), PostgresError> {
        self.execute(
            client,
            "WITH new AS (INSERT INTO @jobs (name) VALUES ($1) ON CONFLICT DO NOTHING \
             RETURNING job) \
             INSERT INTO @counts (job, shard) \
             SELECT job, shard FROM new, generate_series(0, $2::smallint - 1) AS shard",
            &[&encode(name), &SHARDS],
        )
        .await?;
        Ok(())
    }

    pub(crate) async fn find_job(
        &self,
        client: &PooledClient,
        name: &str,
    ) -> Result<Option<i64>, PostgresError> {
        if let Some(&job) = self.names().jobs.get(name) {
            return Ok(Some(job));
        }
        let row = self
            .query_opt(client, "SELECT job FROM @jobs WHERE name = $1", &[&encode(name)])
            .await?;
        let Some(row) = row else { return Ok(None) };
        let job = column(&row, 0)?;
        self.names().jobs.insert(name.to_owned(), job);
        Ok(Some(job))
    }

    /// The name of a job that is known to this process.
    pub(crate) fn name_of(&self, job: i64) -> Option<String> {
        let names = self.names();
        names.jobs.iter().find(|(_, number)| **number == job).map(|(name, _)| name.clone())
    }

    /// The number of a worker, which is added if need be.
    pub(crate) async fn worker(
        &self,
        client: &PooledClient,
        name: &str,
    ) -> Result<i64, PostgresError> {
        loop {
            if let Some(&worker) = self.names().workers.get(name) {
                return Ok(worker);
            }
            let known = "SELECT worker FROM @workers WHERE name = $1";
            if let Some(row) = self.query_opt(client, known, &[&encode(name)]).await? {
                let worker = column(&row, 0)?;
                self.names().workers.insert(name.to_owned(), worker);
                return Ok(worker);
            }
            let add = "INSERT INTO @workers (name) VALUES ($1) ON CONFLICT DO NOTHING";
            self.execute(client, add, &[&encode(name)]).await?;
        }
    }
}
