//! [`SqliteStore`]: a store in one SQLite file, for jobs that outlive their process, or in memory,
//! for tests.
//!
//! All writing goes through one thread, which commits everything queued up in one transaction.
//! Reading has a thread and a connection of its own, so that a long list does not block anything.

mod add;
mod alter;
mod check;
mod claim;
mod clock;
mod file;
mod groups;
mod layout;
mod read;
mod remove;
mod selection;
mod settle;
mod thread;
mod transaction;
mod sqlite_error;
mod values;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;

use self::clock::StoreClock;
use self::layout::{LAYOUT, Layout};
pub use self::thread::identity::file_identity;
use self::thread::patience::Patience;
use self::thread::{Executor, Worker};
use self::transaction::{Access, Transaction};
use super::{
    Change, Changes, Choose, POLL_EVERY, Store, StoreCheck, StoreFuture, StoreResult, check_ids,
};
use crate::item::alteration::Alteration;
use crate::item::clock::Timestamp;
use crate::item::lease::{Lease, LeaseKey, Selection, Settlement, Start};
use crate::item::record::{Cursor, Filter, ItemRecord, NewItem, Page};
use crate::item::summary::{Group, JobRow, Overview};

/// A store in one SQLite file. A clone is another handle to it.
///
/// Other processes may open the file while this one works. Dropping the last handle waits until
/// everything is written, and closes the file.
///
/// ```
/// use retry_workflow::store::{SqliteStore, Store};
/// use retry_workflow::store::NewItem;
/// use retry_workflow::Timestamp;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("jobs.db");
/// let store = SqliteStore::open(&path).unwrap();
/// let item = NewItem::new("order-1", "{}");
/// store.enqueue("orders", vec![item], Timestamp::now()).await.unwrap();
/// drop(store);
///
/// let store = SqliteStore::open_existing(&path).unwrap();
/// assert_eq!(store.counts("orders").await.unwrap().pending, 1);
/// # }
/// ```
#[derive(Clone)]
pub struct SqliteStore(Arc<SqliteFile>);

struct SqliteFile {
    path: PathBuf,
    clock: Arc<StoreClock>,
    changes: Arc<Changes>,
    // They are dropped in this order: the writer closes the file last, and tidies it up.
    /// `None` for a store in memory, which has one connection.
    reader: Option<Executor>,
    writer: Executor,
}

impl SqliteStore {
    /// Opens the store in this file. A missing or empty file becomes a new store.
    ///
    /// ```
    /// # use retry_workflow::SqliteStore;
    /// # fn main() -> Result<(), retry_workflow::StoreError> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("jobs.db");
    /// let store = SqliteStore::open(&path)?;
    /// assert!(store.path().is_absolute());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Access`](super::StoreError::Access): the folder does not exist, or the file may not
    ///   be written
    /// - [`LacksColumns`](super::StoreError::LacksColumns): a program between two versions wrote it
    /// - [`Foreign`](super::StoreError::Foreign): the file holds something else
    /// - [`Newer`](super::StoreError::Newer): a newer version wrote it
    /// - [`Corrupt`](super::StoreError::Corrupt): it is damaged
    /// - [`Locked`](super::StoreError::Locked): another process holds it
    ///
    /// After any of these errors, the file is unchanged.
    pub fn open(path: impl AsRef<Path>) -> StoreResult<Self> {
        Self::options().open(path)
    }

    /// Creates an empty store in memory, for tests. It is gone with its last handle.
    ///
    /// ```
    /// # use retry_workflow::{SqliteStore, Workflow};
    /// let workflow = Workflow::new("import").store(SqliteStore::in_memory());
    /// ```
    ///
    /// # Panics
    ///
    /// If the process has no memory left.
    pub fn in_memory() -> Self {
        let options = Self::options();
        let opened = file::open_in_memory(&options)
            .and_then(|writing| options.start(PathBuf::from(file::IN_MEMORY), None, writing));
        opened.expect("memory for a store")
    }

    /// Opens the store in this file, which must exist.
    ///
    /// ```
    /// # use retry_workflow::{SqliteStore, StoreError};
    /// # fn main() -> Result<(), retry_workflow::StoreError> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("jobs.db");
    /// assert!(matches!(SqliteStore::open_existing(&path), Err(StoreError::Missing { .. })));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Missing`](super::StoreError::Missing) if it does not exist, and the errors of
    /// [`open`](Self::open).
    pub fn open_existing(path: impl AsRef<Path>) -> StoreResult<Self> {
        Self::options().must_exist(true).open(path)
    }

    /// Returns the default options for opening a store.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use retry_workflow::store::{SqliteStore, Synchronous};
    /// # fn main() -> Result<(), retry_workflow::StoreError> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("jobs.db");
    /// let store = SqliteStore::options()
    ///     .synchronous(Synchronous::Full)
    ///     .busy_timeout(Duration::from_secs(30))
    ///     .open(&path)?;
    /// # drop(store);
    /// # Ok(())
    /// # }
    /// ```
    pub fn options() -> SqliteOptions {
        SqliteOptions::default()
    }

    /// Frees the disk space of removed data, and returns the size of the file in bytes, before
    /// and after. Needs as much disk space again while it works, and no other process may write at
    /// the same time.
    ///
    /// ```
    /// # use retry_workflow::SqliteStore;
    /// # fn main() -> Result<(), retry_workflow::StoreError> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("jobs.db");
    /// # drop(SqliteStore::open(&path)?);
    /// let (before, after) = SqliteStore::vacuum(&path)?;
    /// assert!(after <= before);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Locked`](super::StoreError::Locked) if another process writes, and the errors of
    /// [`open_existing`](Self::open_existing).
    pub fn vacuum(path: impl AsRef<Path>) -> StoreResult<(u64, u64)> {
        let options = Self::options().must_exist(true);
        let path = file::located(path.as_ref(), true)?;
        file::vacuum(&path, &options)
    }

    /// Checks the whole store in this file, whatever its layout, without changing it.
    ///
    /// ```
    /// use retry_workflow::SqliteStore;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("jobs.db");
    /// SqliteStore::open(&path).unwrap();
    /// let check = SqliteStore::check(&path).unwrap();
    /// assert!(check.is_sound());
    /// assert_eq!(check.layout, check.newest);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`open_existing`](Self::open_existing).
    pub fn check(path: impl AsRef<Path>) -> StoreResult<StoreCheck> {
        let path = file::located(path.as_ref(), true)?;
        check::check(&path, &Self::options().read_only(true))
    }

    /// Returns the statements that turn an empty file into a store, layout by layout. A file with
    /// an older layout needs those after it.
    ///
    /// ```
    /// # use retry_workflow::SqliteStore;
    /// assert!(SqliteStore::sql().contains("CREATE TABLE"));
    /// ```
    pub fn sql() -> String {
        file::sql()
    }

    /// Returns the absolute path of the file; `:memory:` for a store in memory.
    ///
    /// ```
    /// # use retry_workflow::SqliteStore;
    /// # fn main() -> Result<(), retry_workflow::StoreError> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("jobs.db");
    /// let store = SqliteStore::open(&path)?;
    /// assert!(store.path().ends_with("jobs.db"));
    /// # drop(store);
    /// # Ok(())
    /// # }
    /// ```
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

impl SqliteStore {
    fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        Box::pin(self.0.reader.as_ref().unwrap_or(&self.0.writer).run(work, true))
    }

    fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        Box::pin(self.0.writer.run(work, false))
    }

    /// As [`write`](Self::write), but not if the caller is gone when its turn comes.
    fn write_if_wanted<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        Box::pin(self.0.writer.run(work, true))
    }
}

retry_rules::partial_debug!(SqliteStore, |self| { path: &self.0.path });

/// The point at which a commit is safe on the disk.
///
/// ```
/// # use retry_workflow::store::{SqliteStore, Synchronous};
/// # fn main() -> Result<(), retry_workflow::StoreError> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("jobs.db");
/// let store = SqliteStore::options().synchronous(Synchronous::Full).open(&path)?;
/// # drop(store);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Synchronous {
    /// A commit survives a process killed at any time. The last ones before a power failure may be
    /// lost; the store stays intact, and their items run again.
    #[default]
    Normal,
    /// A commit waits for the disk, and survives a power failure.
    Full,
}

/// The options for opening a [`SqliteStore`]: [`SqliteStore::options`].
///
/// ```
/// # use retry_workflow::store::{SqliteStore, Synchronous};
/// # fn main() -> Result<(), retry_workflow::StoreError> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("jobs.db");
/// let store = SqliteStore::options()
///     .synchronous(Synchronous::Full)
///     .max_bytes(1 << 30)
///     .open(&path)?;
/// # drop(store);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing until a store is opened with them"]
pub struct SqliteOptions {
    synchronous: Synchronous,
    patience: Patience,
    read_only: bool,
    max_bytes: Option<u64>,
    must_exist: bool,
    layout: &'static Layout,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::Normal,
            patience: Patience { most: Duration::from_secs(5), on_wait: None },
            read_only: false,
            max_bytes: None,
            must_exist: false,
            layout: &LAYOUT,
        }
    }
}

impl SqliteOptions {
    retry_rules::accessors! {
        /// Sets when a commit is safe on the disk; [`Synchronous::Normal`] by default.
        ///
        /// ```
        /// # use retry_workflow::store::{SqliteStore, Synchronous};
        /// # fn main() -> Result<(), retry_workflow::StoreError> {
        /// # let folder = tempfile::tempdir().unwrap();
        /// # let path = folder.path().join("jobs.db");
        /// let store = SqliteStore::options().synchronous(Synchronous::Full).open(&path)?;
        /// # drop(store);
        /// # Ok(())
        /// # }
        /// ```
        pub fn synchronous(self, synchronous: Synchronous) -> Self { synchronous: synchronous }

        /// Sets how long to wait for another process that holds the store, before failing with
        /// [`Locked`](super::StoreError::Locked); 5 s by default.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_workflow::SqliteStore;
        /// # fn main() -> Result<(), retry_workflow::StoreError> {
        /// # let folder = tempfile::tempdir().unwrap();
        /// # let path = folder.path().join("jobs.db");
        /// let store = SqliteStore::options().busy_timeout(Duration::from_secs(60)).open(&path)?;
        /// # drop(store);
        /// # Ok(())
        /// # }
        /// ```
        pub fn busy_timeout(self, timeout: Duration) -> Self { patience.most: timeout }

        /// Calls `tell` about every second while waiting for another process that holds the store, with
        /// how long it has waited so far, on a thread of the store.
        ///
        /// ```
        /// # use retry_workflow::SqliteStore;
        /// # fn main() -> Result<(), retry_workflow::StoreError> {
        /// # let folder = tempfile::tempdir().unwrap();
        /// # let path = folder.path().join("jobs.db");
        /// let store = SqliteStore::options().on_wait(|waited| eprintln!("waiting for {waited:?}")).open(&path)?;
        /// # drop(store);
        /// # Ok(())
        /// # }
        /// ```
        pub fn on_wait(self, tell: impl Fn(Duration) + Send + Sync + 'static) -> Self { patience.on_wait: Some(Arc::new(tell)) }

        /// Opens the store for reading only: it must exist, nothing is locked or changed, and
        /// anyone who may read the file can. Writing fails with
        /// [`Access`](super::StoreError::Access). A store with an older layout is migrated first.
        /// `false` by default.
        ///
        /// ```
        /// # use retry_workflow::SqliteStore;
        /// # fn main() -> Result<(), retry_workflow::StoreError> {
        /// # let folder = tempfile::tempdir().unwrap();
        /// # let path = folder.path().join("jobs.db");
        /// # drop(SqliteStore::open(&path)?);
        /// let store = SqliteStore::options().read_only(true).open(&path)?;
        /// # drop(store);
        /// # Ok(())
        /// # }
        /// ```
        pub fn read_only(self, read_only: bool) -> Self { read_only: read_only }

        /// Limits how large the file grows through this handle: beyond it, writing fails with
        /// [`Full`](super::StoreError::Full). No limit by default.
        ///
        /// ```
        /// # use retry_workflow::SqliteStore;
        /// # fn main() -> Result<(), retry_workflow::StoreError> {
        /// # let folder = tempfile::tempdir().unwrap();
        /// # let path = folder.path().join("jobs.db");
        /// let store = SqliteStore::options().max_bytes(1 << 30).open(&path)?;
        /// # drop(store);
        /// # Ok(())
        /// # }
        /// ```
        pub fn max_bytes(self, bytes: u64) -> Self { max_bytes: Some(bytes) }

        /// Sets whether the store must already exist; `false` by default.
        ///
        /// ```
        /// # use retry_workflow::SqliteStore;
        /// # fn main() -> Result<(), retry_workflow::StoreError> {
        /// # let folder = tempfile::tempdir().unwrap();
        /// # let path = folder.path().join("jobs.db");
        /// let options = SqliteStore::options().must_exist(true);
        /// assert!(options.open(&path).is_err());
        /// # Ok(())
        /// # }
        /// ```
        pub fn must_exist(self, must_exist: bool) -> Self { must_exist: must_exist }
    }

    /// Opens the store in this file.
    ///
    /// ```
    /// # use retry_workflow::SqliteStore;
    /// # fn main() -> Result<(), retry_workflow::StoreError> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("jobs.db");
    /// let store = SqliteStore::options().open(&path)?;
    /// # drop(store);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`SqliteStore::open`] and [`SqliteStore::open_existing`].
    pub fn open(&self, path: impl AsRef<Path>) -> StoreResult<SqliteStore> {
        let path = file::located(path.as_ref(), self.must_exist || self.read_only)?;
        let writing = self.patience.wait(|| match file::open_to_look(&path, self)? {
            Some(looking) => Ok(looking),
            None => file::open_to_write(&path, self),
        })?;
        let reading = match file::open_to_look(&path, self)? {
            Some(looking) => looking,
            None => file::open_to_read(&path, self)?,
        };
        self.start(path, Some(reading), writing)
    }

    fn start(
        &self,
        path: PathBuf,
        reading: Option<Connection>,
        writing: Connection,
    ) -> StoreResult<SqliteStore> {
        let clock = Arc::new(StoreClock::open(&writing));
        let changes = Arc::default();
        let worker = |connection, access| {
            Worker::new(&path, connection, access, &clock, &changes, &self.patience)
        };
        let writer = worker(writing, Access::Write);
        let (reader, writer) = match reading {
            Some(reading) => {
                let reader = Executor::start(worker(reading, Access::Read))?;
                (Some(reader), Executor::start(writer)?)
            }
            None => (None, Executor::Caller(Box::new(Mutex::new(writer)))),
        };
        Ok(SqliteStore(Arc::new(SqliteFile { path, clock, changes, reader, writer })))
    }
}

impl Store for SqliteStore {
    /// It follows the system's clock from one boot of the machine to the next, and is measured
    /// within one boot (on Linux; elsewhere, within a process).
    fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    fn enqueue<'a>(
        &'a self,
        job: &'a str,
        items: Vec<NewItem>,
        due: Timestamp,
    ) -> StoreFuture<'a, u64> {
        let job = job.to_owned();
        Box::pin(async move {
            check_ids(std::iter::once(&*job).chain(items.iter().map(|item| &*item.id)))?;
            self.write(move |tx| add::enqueue(tx, &job, &items, due)).await
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
        let (job, worker, until) = (job.to_owned(), worker.to_owned(), now + lease);
        // If the caller is gone, the lease would have no holder.
        self.write_if_wanted(move |tx| claim::claim(tx, &job, &worker, now, selection, until))
    }

    fn settle(
        &self,
        settlements: Vec<Settlement>,
        started: Vec<Start>,
        now: Timestamp,
    ) -> StoreFuture<'_, Vec<bool>> {
        self.write(move |tx| settle::settle(tx, &settlements, &started, now))
    }

    fn extend(
        &self,
        leases: Vec<LeaseKey>,
        started: Vec<Start>,
        until: Timestamp,
    ) -> StoreFuture<'_, Vec<bool>> {
        // If the caller is gone, there is nothing to renew.
        self.write_if_wanted(move |tx| settle::extend(tx, &leases, &started, until))
    }

    fn overview<'a>(&'a self, job: &'a str, most_waiting: u64) -> StoreFuture<'a, Overview> {
        let job = job.to_owned();
        self.read(move |tx| read::overview(tx, &job, most_waiting))
    }

    fn item<'a>(&'a self, job: &'a str, id: &'a str) -> StoreFuture<'a, Option<ItemRecord>> {
        let (job, id) = (job.to_owned(), id.to_owned());
        self.read(move |tx| read::item(tx, &job, &id))
    }

    /// A page ends early once its payloads and outputs get large (64 MiB).
    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<Cursor>,
        max: usize,
    ) -> StoreFuture<'a, Page<ItemRecord>> {
        let filter = filter.clone();
        self.read(move |tx| read::list(tx, &filter, after, max))
    }

    fn stats<'a>(
        &'a self,
        filter: &'a Filter,
        newest: Option<usize>,
    ) -> StoreFuture<'a, Vec<Group>> {
        let filter = filter.clone();
        self.read(move |tx| groups::stats(tx, &filter, newest))
    }

    fn failures(&self) -> StoreFuture<'_, (u64, u64)> {
        let sum = "SELECT coalesce(sum(dead), 0), coalesce(sum(skipped), 0) FROM jobs";
        self.read(|tx| tx.prepare(sum)?.query_row((), |row| row.try_into()))
    }

    fn jobs(&self, after: Option<Cursor>, max: usize) -> StoreFuture<'_, Page<JobRow>> {
        self.read(move |tx| read::jobs(tx, after, max))
    }

    fn alter<'a>(
        &'a self,
        filter: &'a Filter,
        alteration: Alteration,
        max: usize,
        now: Timestamp,
    ) -> StoreFuture<'a, u64> {
        let filter = filter.clone();
        self.write(move |tx| alter::alter(tx, &filter, &alteration, max, now))
    }

    fn remove<'a>(&'a self, job: &'a str, max: usize, keys: Vec<String>) -> StoreFuture<'a, u64> {
        let job = job.to_owned();
        self.write(move |tx| remove::remove(tx, &job, max, &keys))
    }

    fn import(&self, items: Vec<ItemRecord>, now: Timestamp) -> StoreFuture<'_, u64> {
        let items: Vec<_> = items.into_iter().map(|item| item.imported(now)).collect();
        Box::pin(async move {
            check_ids(items.iter().flat_map(|item| [&*item.job, &*item.id]))?;
            self.write(move |tx| add::import(tx, &items)).await
        })
    }

    fn get<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<(u64, String)>> {
        let key = key.to_owned();
        self.read(move |tx| values::get(tx, &key))
    }

    fn cas<'a>(&'a self, key: &'a str, revision: u64, value: &'a str) -> StoreFuture<'a, bool> {
        let (key, value) = (key.to_owned(), value.to_owned());
        self.write(move |tx| values::cas(tx, &key, revision, &value))
    }

    fn values<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Vec<(String, String)>> {
        let prefix = prefix.to_owned();
        self.read(move |tx| values::values(tx, &prefix))
    }

    fn find_or_insert<'a>(
        &'a self,
        prefix: &'a str,
        mut choose: Choose,
    ) -> StoreFuture<'a, (String, String)> {
        Box::pin(async move {
            let prefix = prefix.to_owned();
            self.write(move |tx| values::find_or_insert(tx, &prefix, &mut choose)).await?
        })
    }

    fn update(&self, keys: Vec<String>, mut change: Change) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.write(move |tx| values::update(tx, &keys, &mut change)).await? })
    }

    /// Changes by this process wake callers at once, if made through this handle or a clone of it;
    /// changes by others are found by checking each second whether the file has changed, which
    /// takes some microseconds.
    fn changed<'a>(&'a self, job: &'a str, seen: u64) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            let mut changed = std::pin::pin!(self.0.changes.changed(job, seen));
            if self.0.reader.is_none() {
                return Ok(changed.await);
            }
            loop {
                match tokio::time::timeout(POLL_EVERY, changed.as_mut()).await {
                    Ok(count) => return Ok(count),
                    Err(_) => self.0.writer.look().await?,
                }
            }
        })
    }
}
