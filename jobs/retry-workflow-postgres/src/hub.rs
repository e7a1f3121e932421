//! [`PostgresHub`]: where the members of a fleet meet, in a schema of a Postgres database.
//!
//! In normal operation a member runs one statement, again and again. The rules of `retry-fleet`
//! make the decisions, with the row of the breaker locked.

mod change;
pub(crate) mod layout;
mod poll;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use retry_fleet::hub::{Beat, Changed, HubResult, Member, View};
use retry_fleet::{Change, Hub, HubError, MemberId};
use tokio::sync::OnceCell;
use tokio_postgres::error::SqlState;

use self::layout::LAYOUT;
use crate::migration::LayoutError;
use crate::server::columns::columns;
use crate::server::text::encode;
use crate::server::{Operation, PostgresError, PostgresOptions, Server, quoted};

/// The server's time in microseconds, at the moment it is evaluated.
const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::int8";

/// Nothing is retried in here: members ask again by themselves.
const PATIENCE: Duration = Duration::from_millis(1);

/// A hub for the members of fleets: a schema in a Postgres database. A clone is another handle to
/// it.
///
/// ```no_run
/// use retry_fleet::Fleet;
/// use retry_runtime::{BreakerConfig, CircuitBreaker};
/// use retry_workflow_postgres::PostgresHub;
///
/// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
///
/// # async fn begin() -> Result<(), Box<dyn std::error::Error>> {
/// let hub = PostgresHub::connect("postgres://ada:secret@db.example.com/ops").await?;
/// let fleet = Fleet::join(hub, "billing").await?;
/// fleet.share(&DB).opens_at(0.5);
/// # Ok(())
/// # }
/// ```
///
/// Each process has at most two connections, and runs one statement every 400 ms. There is a table
/// of live members, one of their reports, and one of the breakers: all of them are small.
#[derive(Clone)]
pub struct PostgresHub(Arc<HubTables>);

struct HubTables {
    server: Arc<Server>,
    schema: String,
    /// Set once its tables exist.
    ready: OnceCell<()>,
}

impl PostgresHub {
    /// Opens the hub in this database, in the schema `retry_fleet`. Its tables are created, if need
    /// be, when the server is first reached: an unreachable server is not an error, because members
    /// continue without it.
    ///
    /// ```no_run
    /// # use retry_workflow_postgres::PostgresHub;
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let hub = PostgresHub::connect("postgres://ada@db.example.com/ops").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`HubError::Refused`] if the address is not valid, or the certificates cannot be read.
    #[expect(clippy::unused_async, reason = "connections live on the runtime that opens it")]
    pub async fn connect(url: &str) -> HubResult<Self> {
        let options = PostgresOptions::default()
            .schema("retry_fleet")
            .pool_size(2)
            .statement_timeout(Duration::from_secs(5));
        Self::with_options(url, &options)
    }

    /// Opens the hub with these options, of which it uses the schema, the pool size, the statement
    /// timeout and the certificates.
    ///
    /// ```no_run
    /// # use retry_workflow_postgres::{PostgresHub, PostgresOptions};
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let options = PostgresOptions::default().schema("ops").pool_size(2);
    /// let hub = PostgresHub::with_options("postgres://ada@db.example.com/ops", &options)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect), and [`HubError::Refused`] outside of a tokio runtime.
    pub fn with_options(url: &str, options: &PostgresOptions) -> HubResult<Self> {
        let server = Server::new(options, url).map_err(HubError::refused)?;
        Ok(Self::on(&Arc::new(server), &options.schema))
    }

    /// Opens the hub on the connections of a store, [`server`](crate::PostgresStore::server), in
    /// this schema, which must not be the store's.
    ///
    /// ```no_run
    /// # use retry_workflow_postgres::{PostgresHub, PostgresStore};
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = PostgresStore::connect("postgres://ada@db.example.com/jobs").await?;
    /// let hub = PostgresHub::on(store.server(), "retry_fleet");
    /// # Ok(())
    /// # }
    /// ```
    pub fn on(server: &Arc<Server>, schema: &str) -> Self {
        let server = Arc::clone(server);
        Self(Arc::new(HubTables { server, schema: schema.to_owned(), ready: OnceCell::new() }))
    }

    /// Returns the statements that create the tables in this schema, and let `role` work with
    /// them, for an operator who runs them by hand.
    ///
    /// ```
    /// let sql = retry_workflow_postgres::PostgresHub::sql("retry_fleet", "worker");
    /// assert!(sql.contains("\"retry_fleet\"") && sql.contains("\"worker\""));
    /// ```
    pub fn sql(schema: &str, role: &str) -> String {
        LAYOUT.script(schema, role)
    }

    async fn run<A, T>(&self, arguments: A, work: Operation<(Arc<HubTables>, A), T>) -> HubResult<T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let ready = self.0.ready.get_or_try_init(async || {
            self.attempt((), |client, (inner, ()), _| {
                Box::pin(async move {
                    LAYOUT.open(client, &inner.schema, false).await.map_err(|error| match error {
                        LayoutError::Server(error) => error,
                        error => PostgresError::other(error),
                    })
                })
            })
            .await
        });
        ready.await?;
        self.attempt(arguments, work).await
    }

    async fn attempt<A, T>(
        &self,
        arguments: A,
        work: Operation<(Arc<HubTables>, A), T>,
    ) -> HubResult<T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let arguments = (Arc::clone(&self.0), arguments);
        let begun = AtomicBool::new(false);
        let done = self.0.server.attempts(PATIENCE, &begun, &arguments, work).await;
        done.map_err(hub_error)
    }
}

/// Refuses errors that waiting does not fix.
fn hub_error(error: PostgresError) -> HubError {
    let refused = [
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INVALID_CATALOG_NAME,
        SqlState::UNDEFINED_COLUMN,
    ];
    if error.code().is_some_and(|code| refused.contains(code)) || error.is::<LayoutError>() {
        HubError::refused(error)
    } else {
        HubError::unavailable(error)
    }
}

retry_rules::partial_debug!(PostgresHub, |self| {
    server: &self.0.server.name(),
    schema: &self.0.schema,
});

impl HubTables {
    /// A statement on the tables of this hub: `@` stands for their schema, `$now` for the server's
    /// time.
    fn sql(&self, text: &str) -> String {
        text.replace("$now", NOW).replace('@', &format!("{}.", quoted(&self.schema)))
    }
}

impl Hub for PostgresHub {
    async fn poll(&self, fleet: &str, beat: &Beat) -> HubResult<View> {
        self.run((fleet.to_owned(), beat.clone()), |client, (inner, (fleet, beat)), _| {
            Box::pin(poll::poll(client, inner, fleet, beat))
        })
        .await
    }

    async fn change(
        &self,
        fleet: &str,
        breaker: &str,
        member: &MemberId,
        change: Change,
    ) -> HubResult<Changed> {
        let names = (fleet.to_owned(), breaker.to_owned(), member.clone());
        self.run((names, change), |client, (inner, (names, change)), _| {
            Box::pin(change::change(client, inner, names, *change))
        })
        .await
    }

    async fn leave(&self, fleet: &str, member: &MemberId) -> HubResult<()> {
        self.run((fleet.to_owned(), member.clone()), |client, (inner, (fleet, member)), _| {
            Box::pin(async move {
                let sql = "WITH one AS (DELETE FROM @members WHERE fleet = $1 AND member = $2) \
                           DELETE FROM @reports WHERE fleet = $1 AND member = $2";
                let statement = client.prepare_cached(&inner.sql(sql)).await?;
                client.execute(&statement, &[&encode(fleet), &encode(member.as_str())]).await?;
                Ok(())
            })
        })
        .await
    }

    async fn members(&self, fleet: &str, alive: Duration) -> HubResult<Vec<Member>> {
        self.run((fleet.to_owned(), alive), |client, (inner, (fleet, alive)), _| {
            Box::pin(async move {
                let sql = "WITH t AS MATERIALIZED (SELECT $now AS now) \
                           SELECT member, t.now - joined, t.now - seen FROM @members, t \
                           WHERE fleet = $1 AND seen > t.now - $2 ORDER BY member COLLATE \"C\"";
                let statement = client.prepare_cached(&inner.sql(sql)).await?;
                let rows = client.query(&statement, &[&encode(fleet), &micros(*alive)]).await?;
                let read = |row| {
                    let mut columns = columns(row);
                    let (id, joined) = (columns.text()?.into(), columns.duration()?);
                    Ok(Member::new(id, joined, columns.duration()?))
                };
                rows.iter().map(read).collect()
            })
        })
        .await
    }
}

/// A duration in microseconds, a thousand years at most, so that sums fit in the column.
fn micros(duration: Duration) -> i64 {
    const MOST: i64 = 1_000 * 366 * 86_400 * 1_000_000;
    i64::try_from(duration.as_micros()).map_or(MOST, |micros| micros.min(MOST))
}
