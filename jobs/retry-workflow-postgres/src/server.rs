//! [`Server`]: a Postgres server, with a connection pool whose operations are retried.

pub(crate) mod columns;
mod error;
mod options;
pub(crate) mod text;
mod tls;

use std::future::Future;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use deadpool_postgres::{
    ClientWrapper, Connect, Manager, ManagerConfig, Object, Pool, RecyclingMethod,
};
use retry_runtime::{BreakerConfig, CircuitBreaker, retry};
use retry_workflow::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Socket, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

pub use self::error::PostgresError;
pub(crate) use self::error::PostgresResult;
pub use self::options::PostgresOptions;
pub(crate) use self::options::quoted;

/// The time for which a plan is used: a plan made for empty tables is slow on full ones, and
/// Postgres keeps it until it has analysed them.
const PLAN_TTL: Duration = Duration::from_secs(10);

/// Makes the server plan with index scans and nested loops, which the statements are written for.
/// Its row estimates for tables that fill and empty within seconds choose worse plans.
const PLANNING: &str = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off \
     -c enable_bitmapscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off \
     -c max_parallel_workers_per_gather=0 -c default_transaction_isolation=read\\ committed";

/// A connection outside the pool, and what has to be polled for it.
pub(crate) type Alone =
    (Client, Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>);

/// A server, and a pool of connections to it.
///
/// [`run`](Self::run) retries an operation if a connection is lost, or the server is restarting,
/// busy or being replaced. A server that becomes read-only is being replaced.
///
/// ```no_run
/// use retry_workflow_postgres::PostgresStore;
///
/// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
/// let store = PostgresStore::connect("postgres://ada@db.example.com/jobs").await?;
/// let answer = store.server().run("SELECT 1", |client, sql, _| {
///     Box::pin(async move { Ok(client.query_one(*sql, &[]).await?.get::<_, i32>(0)) })
/// });
/// assert_eq!(answer.await?, 1);
/// # Ok(())
/// # }
/// ```
pub struct Server {
    name: String,
    config: Config,
    tls: MakeRustlsConnect,
    pool: Pool,
    breaker: CircuitBreaker,
    patience: Duration,
    timeout: Duration,
    /// The runtime that opened the pool: connections live on it.
    runtime: Handle,
    began: Instant,
    /// The time at which plans were last discarded, in seconds since `began`.
    planned: AtomicU64,
    /// `true` once the server has accepted a write of this process. From then on, a server that
    /// rejects writes is an outage.
    was_writable: AtomicBool,
}

/// An operation on a connection, with its arguments. The last one is `true` if an earlier attempt
/// may have done it already.
pub type Operation<A, T> =
    for<'a> fn(
        &'a mut PooledClient,
        &'a A,
        bool,
    ) -> Pin<Box<dyn Future<Output = Result<T, PostgresError>> + Send + 'a>>;

impl Server {
    /// Opens a pool, without connecting: for code that shares a server with jobs, and has its own
    /// tables. The options about the schema are for stores, and ignored here.
    ///
    /// ```no_run
    /// use retry_workflow_postgres::PostgresOptions;
    /// use retry_workflow_postgres::server::Server;
    ///
    /// # async fn ping() -> Result<(), Box<dyn std::error::Error>> {
    /// let options = PostgresOptions::default().pool_size(2);
    /// let server = Server::new(&options, "postgres://ada@db.example.com/jobs")?;
    /// let server = std::sync::Arc::new(server);
    /// let answer = server.run("SELECT 1", |client, sql, _| {
    ///     Box::pin(async move { Ok(client.query_one(*sql, &[]).await?.get::<_, i32>(0)) })
    /// });
    /// assert_eq!(answer.await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The address is not valid, the certificates cannot be read, or there is no tokio runtime.
    pub fn new(options: &PostgresOptions, url: &str) -> Result<Self, PostgresError> {
        let runtime = Handle::try_current().map_err(PostgresError::other)?;
        let mut config: Config = url.parse().map_err(|error| PostgresError::address(&error))?;
        if config.get_application_name().is_none() {
            config.application_name("retry-workflow");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(5));
        }
        config.keepalives_idle(Duration::from_secs(30));
        let name = options::shown(&config);
        let tls = tls::connector(config.get_ssl_mode(), options.root_certificates.as_deref())?;
        let settings = format!(
            "{PLANNING} -c statement_timeout={timeout} \
             -c idle_in_transaction_session_timeout={timeout}",
            timeout = options.statement_timeout.as_millis().clamp(1, 2_147_483_647)
        );
        let startup = Startup { tls: tls.clone(), settings, refused: AtomicBool::new(false) };
        let manager = Manager::from_connect(
            config.clone(),
            startup,
            ManagerConfig { recycling_method: RecyclingMethod::Fast },
        );
        let pool = Pool::builder(manager)
            .max_size(options.pool_size.max(1))
            .build()
            .map_err(|error| PostgresError::other(error.to_string()))?;
        let breaker = BreakerConfig::new()
            .failure_threshold(8)
            .timeout(Duration::from_millis(500))
            .half_open_requests(2);
        Ok(Self {
            breaker: CircuitBreaker::named(name.clone(), breaker),
            name,
            config,
            tls,
            pool,
            patience: options.patience,
            // Longer than the server's own limit, so that the server ends the statement first, and
            // reports it.
            timeout: options.statement_timeout.saturating_add(Duration::from_secs(10)),
            runtime,
            began: Instant::now(),
            planned: AtomicU64::new(0),
            was_writable: AtomicBool::new(false),
        })
    }

    /// Returns the address of the server, without a password.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs `operation` on a connection of the pool, and retries after lost connections and the
    /// like. It runs on the runtime that opened the pool, and to completion even if the caller is
    /// dropped.
    ///
    /// # Errors
    ///
    /// The last error, if the server could not be reached for as long as the options say; at once,
    /// an error that another attempt would not fix.
    pub async fn run<A, T>(
        self: &Arc<Self>,
        arguments: A,
        operation: Operation<A, T>,
    ) -> Result<T, PostgresError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.run_for(self.patience, arguments, operation).await
    }

    /// As [`run`](Self::run), but retried for at most `patience`.
    pub(crate) async fn run_for<A, T>(
        self: &Arc<Self>,
        patience: Duration,
        arguments: A,
        operation: Operation<A, T>,
    ) -> Result<T, PostgresError>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let server = Arc::clone(self);
        let task = self.runtime.spawn(async move {
            let begun = AtomicBool::new(false);
            server.attempts(patience, &begun, &arguments, operation).await
        });
        finished(task).await
    }

    /// As [`run`](Self::run), but for at most `patience`, and on the caller's own task.
    #[retry(
        attempts = unlimited,
        initial_delay = "50ms",
        max_delay = "2s",
        jitter = full,
        max_elapsed = patience,
        timeout = self.timeout,
        retry_on = [timeout, when(PostgresError::is_transient)],
        breaker = self.breaker,
        breaker_on = [timeout, when(PostgresError::is_unreachable)],
        when_open = wait,
        name = "retry_workflow_postgres",
        docs = false
    )]
    pub(crate) async fn attempts<A, T>(
        &self,
        patience: Duration,
        begun: &AtomicBool,
        arguments: &A,
        operation: Operation<A, T>,
    ) -> Result<T, PostgresError>
    where
        A: Sync,
    {
        let _guard = ClockGuard::if_paused();
        self.expire_plans();
        let pooled =
            self.pool.get().await.map_err(|error| self.read_only(PostgresError::pool(error)))?;
        if self.config.get_target_session_attrs() == TargetSessionAttrs::ReadWrite {
            self.has_written();
        }
        let mut client = PooledClient { client: Some(pooled), is_sound: false };
        let maybe_done = begun.swap(true, Ordering::Relaxed);
        let done = operation(&mut client, arguments, maybe_done).await;
        let done = done.map_err(|error| self.read_only(error));
        match &done {
            Ok(_) => client.is_sound = true,
            Err(error) => {
                client.is_sound = error.leaves_connection();
                // If the server answered with an error, it did nothing.
                begun.store(maybe_done || !error.is_answer(), Ordering::Relaxed);
            }
        }
        done
    }

    /// Records that the server has accepted a write.
    pub(crate) fn has_written(&self) {
        self.was_writable.store(true, Ordering::Relaxed);
    }

    fn read_only(&self, error: PostgresError) -> PostgresError {
        error.with_read_only(self.was_writable.load(Ordering::Relaxed))
    }

    /// Opens a connection outside the pool, which the caller has to poll.
    pub(crate) async fn connect_alone(&self) -> Result<Alone, PostgresError> {
        Ok(self.config.connect(self.tls.clone()).await?)
    }

    /// The runtime that its connections live on.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    fn expire_plans(&self) {
        let now = self.began.elapsed().as_secs();
        let planned = self.planned.load(Ordering::Relaxed);
        if now.saturating_sub(planned) >= PLAN_TTL.as_secs()
            && self
                .planned
                .compare_exchange(planned, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            self.pool.manager().statement_caches.clear();
        }
    }
}

retry_rules::partial_debug!(Server, |self| { name: &self.name });

/// Waits for a task, and resumes its panic in the caller.
async fn finished<T>(task: JoinHandle<Result<T, PostgresError>>) -> Result<T, PostgresError> {
    match task.await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(PostgresError::closed()),
        },
    }
}

/// On a paused test clock, a runtime whose tasks all wait for something outside jumps to the next
/// timer. It does not while a blocking task runs, so this keeps one running until it is dropped.
struct ClockGuard(#[expect(dead_code, reason = "it is dropped")] oneshot::Sender<()>);

impl ClockGuard {
    fn if_paused() -> Option<Self> {
        Timestamp::paused()?;
        let (busy, done) = oneshot::channel();
        spawn_blocking(move || done.blocking_recv());
        Some(Self(busy))
    }
}

/// A connection from the pool. Unless the work on it has ended, it is closed rather than returned
/// to the pool: a statement may still be running on it.
#[derive(Debug)]
pub struct PooledClient {
    client: Option<Object>,
    is_sound: bool,
}

impl PooledClient {
    fn wrapper(&self) -> &ClientWrapper {
        self.client.as_ref().expect("it is held until it is dropped")
    }

    /// Prepares a statement, or returns it if this connection has prepared it before.
    ///
    /// # Errors
    /// The server does not accept the statement, or the connection is lost.
    pub async fn prepare_cached(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        self.wrapper().prepare_cached(sql).await
    }
}

// To the client itself, not to the pool's type, whose version stays private.
impl Deref for PooledClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.wrapper()
    }
}

impl DerefMut for PooledClient {
    fn deref_mut(&mut self) -> &mut Client {
        self.client.as_mut().expect("it is held until it is dropped")
    }
}

impl Drop for PooledClient {
    fn drop(&mut self) {
        if let Some(client) = self.client.take()
            && !self.is_sound
        {
            drop(Object::take(client));
        }
    }
}

/// Connects with the settings that statements need, if what stands before the server lets them
/// through. A pooler such as `PgBouncer` may not.
struct Startup {
    tls: MakeRustlsConnect,
    settings: String,
    refused: AtomicBool,
}

impl Connect for Startup {
    fn connect(
        &self,
        config: &Config,
    ) -> Pin<
        Box<
            dyn Future<Output = Result<(Client, JoinHandle<()>), tokio_postgres::Error>>
                + Send
                + '_,
        >,
    > {
        let plain = config.clone();
        Box::pin(async move {
            if self.refused.load(Ordering::Relaxed) {
                return self.open(&plain).await;
            }
            let mut config = plain.clone();
            // Options in the address come last, and win.
            let own = plain.get_options().unwrap_or_default();
            config.options(format!("{} {own}", self.settings).trim_end());
            match self.open(&config).await {
                Err(error) if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) => {
                    let opened = self.open(&plain).await;
                    self.refused.store(opened.is_ok(), Ordering::Relaxed);
                    opened
                }
                opened => opened,
            }
        })
    }
}

impl Startup {
    async fn open(
        &self,
        config: &Config,
    ) -> Result<(Client, JoinHandle<()>), tokio_postgres::Error> {
        let (client, connection) = config.connect(self.tls.clone()).await?;
        let reading = tokio::spawn(async move {
            if let Err(error) = connection.await {
                // The users of the connection get an error as well.
                tracing::debug!(error = &error as &dyn std::error::Error, "a connection was lost");
            }
        });
        Ok((client, reading))
    }
}
