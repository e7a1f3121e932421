//! [`PostgresStore`]: a store in a schema of a Postgres database, for jobs on many machines.
//!
//! Each method is one statement, and so one atomic round trip, except those that have to decide
//! something in between.

mod check;
mod clock;
pub(crate) mod layout;
mod cursors;
mod groups;
mod read;
mod selection;
mod session;
pub(crate) mod shared;
pub(crate) mod values;
mod waking;
mod write;

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use retry_workflow::store::{
    Alteration, Change, Choose, Cursor, Group, JobRow, Lease, LeaseKey, NewItem, Overview, Page,
    Selection, Settlement, Start, StoreCheck, StoreFuture, StoreResult, check_ids,
};
use retry_workflow::{Filter, ItemRecord, Store, StoreError, Timestamp};
use tokio::sync::oneshot;

use self::clock::ServerClock;
use self::session::{Earlier, Session};
use self::shared::Shared;
use self::write::claim::Claim;
use self::write::{add, alter, claim, remove, settle};
use crate::server::{Operation, PostgresOptions, Server};

/// Runs `room::operation(session, &kept, copied, maybe_done)` on a connection: all of its arguments
/// are kept, since it runs again if the connection is lost. `maybe_done` is passed on if it is
/// named.
macro_rules! run {
    (
        $store:expr, $room:ident::$operation:ident,
        [$($kept:ident = $value:expr),*], [$($copied:ident),*] $(, $maybe_done:ident)?
    ) => {
        $store.run(
            ($($value,)* $($copied,)*),
            |client, (shared, ($($kept,)* $($copied,)*)), _maybe_done| {
                $(let $maybe_done = _maybe_done;)?
                let session = Session { client, shared };
                Box::pin($room::$operation(session, $($kept,)* $(*$copied,)* $($maybe_done)?))
            },
        )
    };
}

/// A store in a Postgres database. A clone is another handle to it.
///
/// Any number of processes and machines may work on its jobs at once. It uses the server's clock,
/// so theirs may differ. Its connections live on the tokio runtime that opened it.
///
/// ```no_run
/// use retry_workflow::{Workflow, keyed};
/// use retry_workflow_postgres::PostgresStore;
///
/// # async fn import() -> Result<(), Box<dyn std::error::Error>> {
/// let store = PostgresStore::connect("postgres://ada@db.example.com/jobs").await?;
/// let report = Workflow::new("import")
///     .store(store)
///     .run(keyed(1..=20_u32, u32::to_string), |_: u32, _| async { Ok::<_, String>(()) })
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PostgresStore(Arc<Shared>);

impl PostgresStore {
    /// Opens the store in this database, in the schema `retry`. If it does not exist, its tables
    /// are created.
    ///
    /// The address is `postgres://user:password@host:5432/database`, as for `psql`; several hosts
    /// with `target_session_attrs=read-write` follow a primary. With `sslmode=require`, the
    /// server's certificate must be trusted and match its name; with `prefer`, the default, the
    /// connection is encrypted if the server can, and nothing is verified.
    ///
    /// ```no_run
    /// # use retry_workflow_postgres::PostgresStore;
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = PostgresStore::connect("postgres://ada@db.example.com/jobs").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Access`](StoreError::Access): the server cannot be reached, the user may not do this, or
    ///   the schema belongs to a hub
    /// - [`Newer`](StoreError::Newer): a newer version has written it
    /// - [`Foreign`](StoreError::Foreign): the schema holds something else
    pub async fn connect(url: &str) -> StoreResult<Self> {
        Self::options().connect(url).await
    }

    /// Returns the default options for opening a store.
    ///
    /// ```no_run
    /// # use retry_workflow_postgres::PostgresStore;
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = PostgresStore::options()
    ///     .schema("billing")
    ///     .pool_size(16)
    ///     .connect("postgres://ada@db.example.com/jobs")
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn options() -> PostgresOptions {
        PostgresOptions::default()
    }

    /// Returns the address of the server, without a password.
    ///
    /// ```no_run
    /// # use retry_workflow_postgres::PostgresStore;
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = PostgresStore::connect("postgres://ada:secret@db.example.com/jobs").await?;
    /// assert_eq!(store.address(), "postgres://ada@db.example.com/jobs");
    /// # Ok(())
    /// # }
    /// ```
    pub fn address(&self) -> &str {
        self.0.server.name()
    }

    /// Checks the whole store: its layout, its size, and whether its counts match its items.
    ///
    /// ```no_run
    /// # use retry_workflow_postgres::PostgresStore;
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = PostgresStore::connect("postgres://ada@db.example.com/jobs").await?;
    /// assert!(store.check().await?.is_sound());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The server fails.
    pub async fn check(&self) -> StoreResult<StoreCheck> {
        run!(self, check::check, [], []).await
    }

    /// Returns the server, to share its connections.
    ///
    /// ```no_run
    /// # use retry_workflow_postgres::{PostgresHub, PostgresStore};
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = PostgresStore::connect("postgres://ada@db.example.com/jobs").await?;
    /// let hub = PostgresHub::on(store.server(), "retry_fleet");
    /// # Ok(())
    /// # }
    /// ```
    pub fn server(&self) -> &Arc<Server> {
        &self.0.server
    }

    async fn run<A, T>(&self, arguments: A, work: Operation<(Arc<Shared>, A), T>) -> StoreResult<T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let Shared { server, .. } = &*self.0;
        server
            .run((Arc::clone(&self.0), arguments), work)
            .await
            .map_err(|error| error.into_store_error(server.name()))
    }

    async fn claim_or_release(&self, claim: Claim) -> StoreResult<Vec<Lease>> {
        let (reply, answer) = oneshot::channel();
        let store = self.clone();
        // If the caller is dropped while the server leases, the leases have no holder: release
        // them.
        self.0.server.runtime().spawn(async move {
            let now = claim.now;
            let claimed = run!(store, claim::claim, [claim = claim], [], maybe_done).await;
            store.wrote(claimed.as_ref().is_ok_and(|leases| !leases.is_empty()));
            if let Err(Ok(leases)) = reply.send(claimed)
                && !leases.is_empty()
            {
                let released = leases.iter().map(|lease| Settlement::released(lease.key)).collect();
                drop(store.settle(released, Vec::new(), now).await);
            }
        });
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Records that the server accepts writes, if something has changed.
    fn wrote(&self, is_changed: bool) {
        if is_changed {
            self.0.server.has_written();
        }
    }

    /// Wakes the tasks that wait for changes to this job, if it has changed.
    async fn notify(&self, job: &str, is_changed: bool) {
        self.wrote(is_changed);
        if is_changed {
            self.0.waking.notify(job).await;
        }
    }

    /// Runs an operation that changes items of a job, or of all jobs. Claims are moved back, so
    /// that they find items that are due at `due`, and tasks that wait for changes are woken.
    async fn change_items(
        &self,
        job: Option<&str>,
        due: Option<Timestamp>,
        changing: impl Future<Output = StoreResult<u64>>,
    ) -> StoreResult<u64> {
        let changed = changing.await;
        if let Some(due) = due {
            self.rewind_to(due);
        }
        let is_changed = changed.as_ref().is_ok_and(|changed| *changed > 0);
        match job {
            Some(job) => self.notify(job, is_changed).await,
            None if is_changed => {
                self.wrote(true);
                self.0.waking.notify_all().await;
            }
            None => {}
        }
        changed
    }

    /// As [`notify`](Self::notify), for the job that a key belongs to.
    async fn notify_by_key(&self, key: &str, is_changed: bool) {
        self.wrote(is_changed);
        if let Some((_, job)) = key.split_once('/') {
            self.notify(job, is_changed).await;
        }
    }

    /// Moves claims back, so that they find items that are due at this time.
    fn rewind_to(&self, due: Timestamp) {
        self.0.cursors.rewind_to(due.as_micros());
    }
}

impl PostgresOptions {
    /// Opens the store in this database.
    ///
    /// ```no_run
    /// # use retry_workflow_postgres::PostgresStore;
    /// # async fn open() -> Result<(), Box<dyn std::error::Error>> {
    /// let options = PostgresStore::options().must_exist(true);
    /// let store = options.connect("postgres://ada@db.example.com/jobs").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`PostgresStore::connect`]; [`Missing`](StoreError::Missing) if it [must
    /// exist](Self::must_exist) and does not.
    pub async fn connect(&self, url: &str) -> StoreResult<PostgresStore> {
        /// Long enough for a server that is starting, short enough to report soon that the server
        /// is missing.
        const PATIENCE: Duration = Duration::from_secs(3);

        let schema = crate::server::quoted(&self.schema);
        let server = Server::new(self, url);
        let server = server.map_err(|error| error.into_store_error("postgres"))?;
        let opening = (self.schema.clone(), self.must_exist, server.name().to_owned());
        let begun = std::sync::atomic::AtomicBool::new(false);
        let opened = server.attempts(PATIENCE, &begun, &opening, |client, opening, _| {
            Box::pin(async move {
                let (schema, must_exist, name) = opening;
                layout::open(client, schema, *must_exist, name).await?;
                clock::measure(client).await
            })
        });
        let measured = opened.await.map_err(|error| error.into_store_error(server.name()))?;
        let shared =
            Shared::new(Arc::new(server), (&schema, &self.schema), ServerClock::new(measured));
        Ok(PostgresStore(Arc::new(shared)))
    }

    /// Returns the statements that create the tables, and let `role` work with them, for an
    /// operator who runs them by hand. The role needs nothing else.
    ///
    /// ```
    /// let sql = retry_workflow_postgres::PostgresStore::options().sql("worker");
    /// assert!(sql.starts_with("CREATE SCHEMA \"retry\""));
    /// assert!(sql.contains("TO \"worker\""));
    /// ```
    pub fn sql(&self, role: &str) -> String {
        layout::LAYOUT.script(&self.schema, role)
    }
}

impl Store for PostgresStore {
    /// The server's time, as far as it can be known: it is measured every 30 s, and differences are
    /// made up for gradually.
    fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    fn enqueue<'a>(
        &'a self,
        job: &'a str,
        items: Vec<NewItem>,
        due: Timestamp,
    ) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            check_ids(std::iter::once(job).chain(items.iter().map(|item| item.id.as_str())))?;
            let added = run!(self, add::enqueue, [job = job.to_owned(), items = items], [due]);
            self.change_items(Some(job), Some(due), added).await
        })
    }

    fn claim<'a>(
        &'a self,
        job: &'a str,
        worker: &'a str,
        now: Timestamp,
        selection: Selection,
        lease: Duration,
    ) -> StoreFuture<'a, Vec<Lease>> {
        let (job, worker) = (job.to_owned(), worker.to_owned());
        Box::pin(self.claim_or_release(Claim { job, worker, now, selection, lease }))
    }

    fn settle(
        &self,
        settlements: Vec<Settlement>,
        started: Vec<Start>,
        now: Timestamp,
    ) -> StoreFuture<'_, Vec<bool>> {
        Box::pin(async move {
            let due = settlements.iter().filter_map(|one| one.end.due(now)).min();
            let (all, started) = (settlements, started);
            let settled =
                run!(self, settle::settle, [all = all, started = started], [now], maybe_done).await;
            if let Some(due) = due {
                self.rewind_to(due);
            }
            let (settled, put_back) = settled?;
            self.wrote(settled.contains(&true));
            for job in put_back {
                match self.0.name_of(job) {
                    Some(job) => self.0.waking.notify_soon(&job),
                    None => self.0.waking.notify_all().await,
                }
            }
            Ok(settled)
        })
    }

    fn extend(
        &self,
        leases: Vec<LeaseKey>,
        started: Vec<Start>,
        until: Timestamp,
    ) -> StoreFuture<'_, Vec<bool>> {
        Box::pin(run!(self, settle::extend, [leases = leases, started = started], [until]))
    }

    fn overview<'a>(&'a self, job: &'a str, most_waiting: u64) -> StoreFuture<'a, Overview> {
        Box::pin(run!(self, read::overview, [job = job.to_owned()], [most_waiting]))
    }

    fn item<'a>(&'a self, job: &'a str, id: &'a str) -> StoreFuture<'a, Option<ItemRecord>> {
        Box::pin(run!(self, read::item, [job = job.to_owned(), id = id.to_owned()], []))
    }

    /// A page ends early once its payloads and outputs get large (64 MiB).
    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<Cursor>,
        max: usize,
    ) -> StoreFuture<'a, Page<ItemRecord>> {
        Box::pin(run!(self, read::list, [filter = filter.clone()], [after, max]))
    }

    fn stats<'a>(
        &'a self,
        filter: &'a Filter,
        newest: Option<usize>,
    ) -> StoreFuture<'a, Vec<Group>> {
        Box::pin(run!(self, groups::stats, [filter = filter.clone()], [newest]))
    }

    fn jobs(&self, after: Option<Cursor>, max: usize) -> StoreFuture<'_, Page<JobRow>> {
        Box::pin(run!(self, read::jobs, [], [after, max]))
    }

    /// One sum, because the counts of thousands of jobs take longer than a page may.
    fn failures(&self) -> StoreFuture<'_, (u64, u64)> {
        Box::pin(run!(self, read::failures, [], []))
    }

    fn alter<'a>(
        &'a self,
        filter: &'a Filter,
        alteration: Alteration,
        max: usize,
        now: Timestamp,
    ) -> StoreFuture<'a, u64> {
        let due = alteration.makes_due().then_some(now);
        let meant = filter.clone();
        let altered = run!(
            self,
            alter::alter,
            [filter = meant, alteration = alteration, earlier = Earlier::default()],
            [max, now],
            maybe_done
        );
        Box::pin(self.change_items(filter.job.as_deref(), due, altered))
    }

    fn remove<'a>(&'a self, job: &'a str, max: usize, keys: Vec<String>) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let removed =
                run!(self, remove::remove, [job = job.to_owned(), keys = keys], [max]).await;
            self.notify(job, removed.is_ok()).await;
            removed
        })
    }

    fn import(&self, items: Vec<ItemRecord>, now: Timestamp) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            check_ids(items.iter().flat_map(|item| [item.job.as_str(), item.id.as_str()]))?;
            let items: Vec<_> = items.into_iter().map(|item| item.imported(now)).collect();
            let jobs: BTreeSet<_> = items.iter().map(|item| item.job.clone()).collect();
            let added = run!(self, add::import, [items = items], []).await;
            self.rewind_to(now);
            for job in &jobs {
                self.notify(job, added.as_ref().is_ok_and(|added| *added > 0)).await;
            }
            added
        })
    }

    fn get<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<(u64, String)>> {
        Box::pin(run!(self, values::get, [key = key.to_owned()], []))
    }

    fn cas<'a>(&'a self, key: &'a str, revision: u64, value: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let (name, value) = (key.to_owned(), value.to_owned());
            let changed =
                run!(self, values::cas, [name = name, value = value], [revision], maybe_done).await;
            self.notify_by_key(key, changed == Ok(true)).await;
            changed
        })
    }

    fn values<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Vec<(String, String)>> {
        Box::pin(run!(self, values::values, [prefix = prefix.to_owned()], []))
    }

    fn find_or_insert<'a>(
        &'a self,
        prefix: &'a str,
        choose: Choose,
    ) -> StoreFuture<'a, (String, String)> {
        Box::pin(async move {
            let (prefix, choose) = (prefix.to_owned(), Mutex::new(choose));
            let found =
                run!(self, values::find_or_insert, [prefix = prefix, choose = choose], []).await?;
            let ((key, value), is_new) = found;
            self.notify_by_key(&key, is_new).await;
            Ok((key, value))
        })
    }

    fn update(&self, keys: Vec<String>, change: Change) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let all = (keys, Mutex::new(change), Earlier::default());
            let changed = run!(self, values::update, [all = all], [], maybe_done).await?;
            for key in changed {
                self.notify_by_key(&key, true).await;
            }
            Ok(())
        })
    }

    /// Changes by this process wake callers at once, and those by others within milliseconds,
    /// through `NOTIFY`. If notifications do not arrive, this returns after a second.
    fn changed<'a>(&'a self, job: &'a str, seen: u64) -> StoreFuture<'a, u64> {
        Box::pin(async move { Ok(self.0.waking.changed(job, seen).await) })
    }
}
