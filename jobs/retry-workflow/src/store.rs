//! [`Store`]: where a job lives. Time is passed in, and nothing sleeps in here except a wait for a
//! change.
//!
//! [`SqliteStore`] is for jobs that outlive their process, and in memory for tests.
//! `PostgresStore`, for jobs on many machines, is in the crate `retry-workflow-postgres`. Nothing
//! above this trait knows SQL.

mod changes;
mod check;
#[doc(hidden)]
pub mod codes;
mod error;
mod imported;
#[doc(hidden)]
pub mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;
mod values;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use self::changes::Changes;
#[doc(hidden)]
pub use self::check::comparison;
pub use self::check::{Disagreement, StoreCheck};
pub use self::error::StoreError;
#[cfg(feature = "sqlite")]
#[doc(hidden)]
pub use self::sqlite::file_identity;
#[cfg(feature = "sqlite")]
pub use self::sqlite::{SqliteOptions, SqliteStore, Synchronous};
pub use crate::item::alteration::{Alteration, Waiting};
use crate::item::clock::{Timestamp, measured};
pub use crate::item::lease::{
    Lease, LeaseKey, SUSPECT_AFTER, Selection, Settled, Settlement, Start, StepTime,
};
pub use crate::item::priority::{PRIORITIES, Priorities};
pub use crate::item::record::{AttemptOutcome, AttemptRecord, Cursor, NewItem, Page};
use crate::item::record::{Counts, Filter, ItemRecord};
pub use crate::item::summary::{Group, HourCount, JobRow, Overview};
use crate::words::cut;

/// A claim ends with the payload that reaches this many bytes: 16 MiB.
pub const MAX_CLAIM_BYTES: usize = 16 << 20;

/// A page of a list ends after this many rows that its filter does not want: 2,000.
pub const MAX_ROWS_SCANNED: usize = 2_000;

/// The number of failures that a page looks at, the newest ones, to group them: 20,000.
pub const NEWEST_FAILURES: usize = 20_000;

/// The largest length of an id, of a job or an item, in bytes: 1,000. It is the same in all stores,
/// so that a job can move from one to another; an index of Postgres could not hold longer ones.
pub const MAX_ID_BYTES: usize = 1_000;

/// Refuses ids longer than [`MAX_ID_BYTES`]. Stores call it before they add something.
///
/// ```
/// use retry_workflow::store::{MAX_ID_BYTES, check_ids};
///
/// let long = "x".repeat(MAX_ID_BYTES + 1);
/// assert!(check_ids(["import-1", "order-17"]).is_ok());
/// assert!(check_ids(["import-1", long.as_str()]).is_err());
/// ```
///
/// # Errors
/// [`StoreError::LongId`] for the first long id.
pub fn check_ids<'a>(ids: impl IntoIterator<Item = &'a str>) -> StoreResult<()> {
    match ids.into_iter().find(|id| id.len() > MAX_ID_BYTES) {
        Some(id) => Err(StoreError::LongId { begin: cut(id, 40), bytes: id.len() }),
        None => Ok(()),
    }
}

/// The interval at which a store that cannot report changes is polled.
pub(crate) const POLL_EVERY: Duration = Duration::from_secs(1);

/// The outcome of a method of a store.
pub type StoreResult<T> = Result<T, StoreError>;

/// The result of each method of a store: `Box::pin(async move { … })`.
///
/// Boxed, so that a store can be a `dyn Store`: code that uses one is compiled once.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = StoreResult<T>> + Send + 'a>>;

/// Chooses one of the values that it is given, or a new one with its key:
/// [`Store::find_or_insert`].
pub type Choose = Box<dyn FnMut(&[(String, String)]) -> StoreResult<(String, String)> + Send>;

/// Changes values in place, `None` where a key has none: [`Store::update`].
pub type Change = Box<dyn FnMut(&mut [Option<String>]) -> StoreResult<()> + Send>;

/// Keeps items, their leases and histories, dead letters, and small values.
///
/// Each method is one transaction: it is atomic, and durable when its future resolves. Times and
/// durations are stored in whole microseconds.
///
/// Functions that work on a store take a `&dyn Store`, and those that keep one an [`IntoStore`]: a
/// store, or an `Arc<dyn Store>` that is shared already. A clone of one of the stores in these
/// crates is another handle to it.
///
/// Jobs use it by themselves; programs call it to see what is in there:
///
/// ```
/// use std::time::Duration;
/// use retry_workflow::store::{NewItem, Selection, Settled, Settlement};
/// use retry_workflow::{SqliteStore, Store};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), retry_workflow::StoreError> {
/// let store = SqliteStore::in_memory();
/// store.enqueue("orders", vec![NewItem::new("17", "{}")], store.now()).await?;
///
/// // What a worker does:
/// let (ten, lasts) = (Selection::Items { max: 10, starts: 10 }, Duration::from_secs(30));
/// let leases = store.claim("orders", "worker-1", store.now(), ten, lasts).await?;
/// let done = Settlement::new(leases[0].key, Settled::Succeeded(None), Vec::new());
/// assert_eq!(store.settle(vec![done], Vec::new(), store.now()).await?, [true]);
///
/// assert_eq!(store.counts("orders").await?.succeeded, 1);
/// # Ok(())
/// # }
/// ```
///
/// # A store of your own
///
/// | what it keeps | methods |
/// | --- | --- |
/// | items and leases, for workers | `enqueue`, `claim`, `settle`, `extend` |
/// | what workers and people look at | `overview`, `item`, `list`, `stats`, `jobs` |
/// | dead letters, and items that come or go | `alter`, `remove`, `import` |
/// | values by key: records of jobs, breakers and workers | `get`, `cas`, `values`, `find_or_insert`, `update` |
///
/// - A lease is an item's number and a token that grows with each claim. `settle` and `extend`
///   compare the token, so that a worker whose lease was taken over writes nothing.
/// - The caller passes the time in. Only [`now`](Self::now) reads a clock.
/// - The defaults of [`now`](Self::now), [`counts`](Self::counts) and [`changed`](Self::changed)
///   work; [`Changes`] wakes workers of the same process at once.
/// - Methods return a [`StoreFuture`], so that a store can be a `dyn Store`: their bodies are
///   `Box::pin(async move { … })`. A store that adds something to another one returns the other
///   one's futures for all the rest.
/// - The repository has a test for each promise on this page, in `tests/fixtures/contract`: a crate
///   that is not published, and can be copied.
pub trait Store: Send + Sync + 'static {
    /// Returns the time by this store's clock: the only one that jobs use, and what they pass to
    /// the other methods. It never goes backwards, whatever happens to the system's clock.
    ///
    /// By default it is measured from what the system's clock said when this process first asked. A
    /// store that outlives its process continues from the time that it saved.
    fn now(&self) -> Timestamp {
        measured()
    }

    /// Adds items to a job, due at `due`, and returns how many were new: an item that the
    /// job already has, by its id, is left unchanged. If an id is longer than [`MAX_ID_BYTES`],
    /// nothing is added: [`check_ids`].
    fn enqueue<'a>(
        &'a self,
        job: &'a str,
        items: Vec<NewItem>,
        due: Timestamp,
    ) -> StoreFuture<'a, u64>;

    /// Leases items to `worker` until `now + lease`, and no more once their payloads have reached
    /// [`MAX_CLAIM_BYTES`]: those that are due, and those whose lease has expired. It is either one
    /// suspect, or items that are none: first some that have begun, as many as
    /// [`Selection::begun_first`] says, then new ones, then more that have begun. Each of these
    /// groups is ordered by [priority](NewItem::priority), the highest first, and then by these
    /// times. Those that start at once start at `now`. Their attempt and token grow by one.
    ///
    /// An item has begun if it was claimed before in its present run. It is new again after a
    /// release that leaves no attempt, and after a re-drive; one that was
    /// [deferred](Settled::Deferred) has begun. So retries do not wait behind all that
    /// was never tried, and do not keep it waiting either.
    ///
    /// A lease that has expired unsettled is counted now. If the item was started, the attempt is
    /// lost: it gets a row in the history ([`Lost`](crate::store::AttemptOutcome::Lost), by the
    /// worker that had it, from its start to the end of the lease), and [`Lease::lost`] grows.
    /// Otherwise [`Lease::dropped`] grows, without a row. With two of either kind the item is a
    /// [suspect](Lease::is_suspect). An expired lease of `worker` itself is renewed instead: it
    /// keeps its token, its attempt, and its start if that is known.
    fn claim<'a>(
        &'a self,
        job: &'a str,
        worker: &'a str,
        now: Timestamp,
        selection: Selection,
        lease: Duration,
    ) -> StoreFuture<'a, Vec<Lease>>;

    /// Settles leases: state, history and dead letter of each change at once. Returns `false` for a
    /// lease that the item no longer has, for which nothing is written. Also records which other
    /// leased items have started; the start of a lease that the item no longer has is ignored.
    ///
    /// An expired lease is valid until the item is claimed again. Settling resets [`Lease::lost`]
    /// and [`Lease::dropped`] to 0; a release does not, and takes the attempt and its start back.
    fn settle(
        &self,
        settlements: Vec<Settlement>,
        started: Vec<Start>,
        now: Timestamp,
    ) -> StoreFuture<'_, Vec<bool>>;

    /// Renews leases, and never shortens one; returns `false` for one that the item no longer
    /// has. Also records starts, as [`settle`](Self::settle) does.
    fn extend(
        &self,
        leases: Vec<LeaseKey>,
        started: Vec<Start>,
        until: Timestamp,
    ) -> StoreFuture<'_, Vec<bool>>;

    /// Looks at a job as a whole: its counts, and what can be claimed when. Cheap, however many
    /// items there are; [`Overview::waiting`] is counted up to `most_waiting`, and costs as much
    /// as there is to count.
    fn overview<'a>(&'a self, job: &'a str, most_waiting: u64) -> StoreFuture<'a, Overview>;

    /// Returns how many items of a job are in each state, by looking at the job as a whole.
    fn counts<'a>(&'a self, job: &'a str) -> StoreFuture<'a, Counts> {
        Box::pin(async move { Ok(self.overview(job, 0).await?.counts) })
    }

    /// Returns one item, with its history.
    fn item<'a>(&'a self, job: &'a str, id: &'a str) -> StoreFuture<'a, Option<ItemRecord>>;

    /// Returns items in the order in which they were added, without their histories; the
    /// first `max` after `after`, or fewer if they are large: see [`Page::next`].
    ///
    /// If no index answers the filter, a store looks at [`MAX_ROWS_SCANNED`] rows at most, and
    /// returns what it has found so far, which may be nothing: the caller continues from
    /// [`Page::next`].
    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        after: Option<Cursor>,
        max: usize,
    ) -> StoreFuture<'a, Page<ItemRecord>>;

    /// Returns the failures of dead letters and skipped items (within the filter's states),
    /// grouped; the largest group first. Of all of them, it reads as many rows as there are.
    ///
    /// With `newest`, only so many failures that were added last are looked at, of the job and the
    /// states of the filter; the other conditions apply within them. Then it is cheap, however many
    /// there are.
    fn stats<'a>(
        &'a self,
        filter: &'a Filter,
        newest: Option<usize>,
    ) -> StoreFuture<'a, Vec<Group>>;

    /// Returns jobs with their counts, the newest first; the first `max` after `after`.
    ///
    /// A job is listed as soon as it has an item, or a value at `job/` and its id.
    fn jobs(&self, after: Option<Cursor>, max: usize) -> StoreFuture<'_, Page<JobRow>>;

    /// Returns the number of dead letters and of skipped items of all jobs.
    fn failures(&self) -> StoreFuture<'_, (u64, u64)>;

    /// Changes up to `max` items that the filter selects, those that were added first if they are
    /// dead or skipped, and returns how many: see [`Alteration`].
    fn alter<'a>(
        &'a self,
        filter: &'a Filter,
        alteration: Alteration,
        max: usize,
        now: Timestamp,
    ) -> StoreFuture<'a, u64>;

    /// Removes up to `max` items of a job, whatever their state, with all that is known
    /// about them, and returns how many. Once none is left, the values of `keys` are
    /// removed, and the job counts from 0. A worker that still holds one of the items
    /// loses its lease.
    fn remove<'a>(&'a self, job: &'a str, max: usize, keys: Vec<String>) -> StoreFuture<'a, u64>;

    /// Adds items as they were elsewhere, histories included, to the job that each names, and
    /// returns how many were new. An item that was pending or leased is due at `now`. Long ids are
    /// refused as in [`enqueue`](Self::enqueue).
    fn import(&self, items: Vec<ItemRecord>, now: Timestamp) -> StoreFuture<'_, u64>;

    /// Returns the value of a key, with its revision, which starts at 1 and grows by one with each
    /// change.
    fn get<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Option<(u64, String)>>;

    /// Changes the value of a key if it has this revision (0 if it does not exist), and returns
    /// whether it did.
    fn cas<'a>(&'a self, key: &'a str, revision: u64, value: &'a str) -> StoreFuture<'a, bool>;

    /// Returns the values whose keys begin with `prefix`, each with its key, in the order of
    /// the keys.
    fn values<'a>(&'a self, prefix: &'a str) -> StoreFuture<'a, Vec<(String, String)>>;

    /// Finds a value, or adds one, in one step: `choose` gets the [`values`](Self::values) of
    /// `prefix` and returns one of them, or a new one with its key, and no value changes in
    /// between. Returns what the store has for that key afterwards; if `choose` fails, nothing
    /// changes.
    ///
    /// `choose` may be called more than once, and must not use the store.
    fn find_or_insert<'a>(
        &'a self,
        prefix: &'a str,
        choose: Choose,
    ) -> StoreFuture<'a, (String, String)>;

    /// Changes the values of several different keys in one step: `change` gets them in the order of
    /// `keys`, and no other caller changes them in between. A value that becomes `None` stays as it
    /// was; if `change` fails, nothing changes.
    ///
    /// `change` may be called more than once, and must not use the store.
    fn update(&self, keys: Vec<String>, change: Change) -> StoreFuture<'_, ()>;

    /// Ends once something that a job's workers wait for may have changed. `seen` is what the last
    /// call returned, 0 for the first one: a change in between ends this call at once.
    ///
    /// Such changes are: items are added, imported, put back (by a settlement or a
    /// re-drive), made due, edited, skipped, purged or removed; leases are ended by
    /// [`alter`](Self::alter); a value changes whose key is a word, `/` and the id of the job.
    /// The end of an item need not be reported, nor a due time that arrives. The call may end
    /// without a change: callers check what is there, and check once a minute anyway.
    ///
    /// By default it ends after a second. [`Changes`] is how a store reports its own changes.
    ///
    /// # Errors
    /// The store cannot be read.
    fn changed<'a>(&'a self, _job: &'a str, seen: u64) -> StoreFuture<'a, u64> {
        Box::pin(async move {
            tokio::time::sleep(POLL_EVERY).await;
            Ok(seen)
        })
    }
}

/// A value that a job takes as its store: any [`Store`], or one that is shared already.
///
/// ```
/// use std::sync::Arc;
/// use retry_workflow::{SqliteStore, Store, Workflow};
///
/// let workflow = Workflow::new("import").store(SqliteStore::in_memory());
///
/// // Which kind it is may be decided while the program runs.
/// let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory());
/// let workflow = Workflow::new("import").store(Arc::clone(&store));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store",
    label = "not a store",
    note = "open one first: `SqliteStore::open(\"jobs.db\")?`, or `SqliteStore::in_memory()` for tests",
    note = "to share a store, pass a clone: `store.clone()` is another handle to the same store",
    note = "a store that is chosen at runtime is an `Arc<dyn Store>`"
)]
pub trait IntoStore: sealed::Sealed {
    /// Returns the store in a form that can be shared.
    fn into_store(self) -> Arc<dyn Store>;
}

#[diagnostic::do_not_recommend]
impl<S: Store> IntoStore for S {
    fn into_store(self) -> Arc<dyn Store> {
        Arc::new(self)
    }
}

impl IntoStore for Arc<dyn Store> {
    fn into_store(self) -> Self {
        self
    }
}

mod sealed {
    pub trait Sealed {}

    impl<S: super::Store> Sealed for S {}
    impl Sealed for std::sync::Arc<dyn super::Store> {}
}
