//! [`Session`]: a connection that runs statements on the tables of a store.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use retry_workflow::Filter;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, RowStream};

use super::layout::SHARDS;
use super::shared::{Names, Shared};
use crate::server::columns::column;
use crate::server::text::encode;
use crate::server::{PooledClient, PostgresResult};

/// The interval at which a commit that may still be running is polled.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// The transaction of an earlier attempt, and its result, in case the response to its commit is lost.
pub(crate) type Earlier<T> = Mutex<Option<(String, T)>>;

/// The parameters of a statement, in order.
pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A connection, and the state shared by all handles to the store. In its statements, `@` stands
/// for the schema of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session<'a> {
    pub(crate) client: &'a PooledClient,
    pub(crate) shared: &'a Shared,
}

impl Session<'_> {
    pub(crate) async fn query(self, sql: &str, values: Values<'_>) -> PostgresResult<Vec<Row>> {
        let statement = self.client.prepare_cached(&self.shared.sql(sql)).await?;
        Ok(self.client.query(&statement, values).await?)
    }

    /// As [`query`](Self::query), row by row, however many there are.
    pub(crate) async fn stream(self, sql: &str, values: Values<'_>) -> PostgresResult<RowStream> {
        let statement = self.client.prepare_cached(&self.shared.sql(sql)).await?;
        Ok(self.client.query_raw(&statement, values.iter().copied()).await?)
    }

    pub(crate) async fn query_opt(
        self,
        sql: &str,
        values: Values<'_>,
    ) -> PostgresResult<Option<Row>> {
        Ok(self.query(sql, values).await?.into_iter().next())
    }

    /// The number in the first column of the only row.
    pub(crate) async fn count(self, sql: &str, values: Values<'_>) -> PostgresResult<u64> {
        let row = self.query_opt(sql, values).await?;
        let count: i64 = row.map_or(Ok(0), |row| column(&row, 0))?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    pub(crate) async fn execute(self, sql: &str, values: Values<'_>) -> PostgresResult<u64> {
        let statement = self.client.prepare_cached(&self.shared.sql(sql)).await?;
        Ok(self.client.execute(&statement, values).await?)
    }

    pub(crate) async fn begin(self) -> PostgresResult<()> {
        Ok(self.client.batch_execute("BEGIN").await?)
    }

    /// Ends the transaction in which something was done: commits it, or, after an error, rolls it
    /// back.
    pub(crate) async fn end<T>(self, done: PostgresResult<T>) -> PostgresResult<T> {
        match &done {
            Ok(_) => self.client.batch_execute("COMMIT").await?,
            Err(error) if error.leaves_connection() => self.roll_back().await?,
            Err(_) => {}
        }
        done
    }

    pub(crate) async fn roll_back(self) -> PostgresResult<()> {
        Ok(self.client.batch_execute("ROLLBACK").await?)
    }

    /// Returns the result of an earlier attempt, if it was committed.
    ///
    /// After a failover, an asynchronous standby that has not received the transaction may have given
    /// its number to another one. If that is committed, the result is returned, although the change
    /// is lost.
    pub(crate) async fn committed<T: Clone>(
        self,
        earlier: &Earlier<T>,
    ) -> PostgresResult<Option<T>> {
        let Some((transaction, done)) = earlier.lock().clone() else { return Ok(None) };
        loop {
            let sql = "SELECT pg_xact_status($1::text::xid8)";
            let row = match self.query_opt(sql, &[&transaction]).await {
                // The number is in the future of a standby that has not received the transaction.
                Err(error) if error.code() == Some(&SqlState::INVALID_PARAMETER_VALUE) => {
                    return Ok(None);
                }
                row => row?,
            };
            match row.map_or(Ok(None), |row| column::<Option<String>>(&row, 0))?.as_deref() {
                Some("in progress") => tokio::time::sleep(POLL_EVERY).await,
                status => return Ok((status == Some("committed")).then_some(done)),
            }
        }
    }

    /// The number of a job, which is added if need be.
    pub(crate) async fn job(self, name: &str) -> PostgresResult<i64> {
        loop {
            if let Some(job) = self.find_job(name).await? {
                return Ok(job);
            }
            // Another process may be faster: the next round finds its row.
            self.add_job(name).await?;
        }
    }

    /// Adds a job, unless there is one with this name.
    pub(crate) async fn add_job(self, name: &str) -> PostgresResult<()> {
        let sql = "WITH new AS (INSERT INTO @jobs (name) VALUES ($1) ON CONFLICT DO NOTHING \
                   RETURNING job) \
                   INSERT INTO @counts (job, shard) \
                   SELECT job, shard FROM new, generate_series(0, $2::smallint - 1) AS shard";
        self.execute(sql, &[&encode(name), &SHARDS]).await?;
        Ok(())
    }

    pub(crate) async fn find_job(self, name: &str) -> PostgresResult<Option<i64>> {
        self.find(name, "SELECT job FROM @jobs WHERE name = $1", |names| &mut names.jobs).await
    }

    /// The number of the job that a filter names, if it names one; `None` if there is no such job.
    pub(crate) async fn job_of(self, filter: &Filter) -> PostgresResult<Option<Option<i64>>> {
        let Some(name) = &filter.job else { return Ok(Some(None)) };
        Ok(self.find_job(name).await?.map(Some))
    }

    /// The number of a worker, which is added if need be.
    pub(crate) async fn worker(self, name: &str) -> PostgresResult<i64> {
        let known = "SELECT worker FROM @workers WHERE name = $1";
        loop {
            if let Some(worker) = self.find(name, known, |names| &mut names.workers).await? {
                return Ok(worker);
            }
            let add = "INSERT INTO @workers (name) VALUES ($1) ON CONFLICT DO NOTHING";
            self.execute(add, &[&encode(name)]).await?;
        }
    }

    /// The number that stands for a name, from this process or from the table.
    async fn find(
        self,
        name: &str,
        sql: &str,
        known: fn(&mut Names) -> &mut HashMap<String, i64>,
    ) -> PostgresResult<Option<i64>> {
        if let Some(&number) = known(&mut self.shared.names.lock()).get(name) {
            return Ok(Some(number));
        }
        let Some(row) = self.query_opt(sql, &[&encode(name)]).await? else { return Ok(None) };
        let number = column(&row, 0)?;
        known(&mut self.shared.names.lock()).insert(name.to_owned(), number);
        Ok(Some(number))
    }
}
