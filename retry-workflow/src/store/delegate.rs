//! [`delegate_store!`](crate::delegate_store), for a store that is one of several others.

/// Implements the methods of a [`Store`](crate::Store) by delegating to another one.
///
/// Takes patterns for `self`, each with the store behind it: `Store` is not dyn-compatible, so a
/// program with several kinds of stores makes an enum of them.
///
/// ```
/// use retry_workflow::{MemoryStore, SqliteStore, Store, delegate_store};
///
/// #[derive(Clone)]
/// enum AnyStore {
///     Memory(MemoryStore),
///     Sqlite(SqliteStore),
/// }
///
/// impl Store for AnyStore {
///     delegate_store! {
///         Self::Memory(store) => store,
///         Self::Sqlite(store) => store,
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let store = AnyStore::Memory(MemoryStore::new());
/// assert_eq!(store.counts("import-1").await.unwrap().total(), 0);
/// # }
/// ```
#[macro_export]
macro_rules! delegate_store {
    (@methods $each:tt $(async fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)+) => {
        $($crate::delegate_store!(@method $each $name ($($argument),*) ($($argument: $type),*) -> $result);)+
    };
    (@method ($($(#[$meta:meta])* $self:pat => $store:expr),+) $name:ident
        $arguments:tt ($($argument:ident: $type:ty),*) -> $result:ty
    ) => {
        async fn $name(&self $(, $argument: $type)*) -> $crate::store::StoreResult<$result> {
            match self {
                $($(#[$meta])* $self => $store.$name $arguments.await,)+
            }
        }
    };
    // All methods except `now` and `changed`.
    (@queries $($(#[$meta:meta])* $self:pat => $store:expr),+ $(,)?) => {
        $crate::delegate_store! { @methods ($($(#[$meta])* $self => $store),+)
            async fn enqueue(
                job: &str, items: Vec<$crate::NewItem>, due: $crate::Timestamp
            ) -> u64;
            async fn claim(
                job: &str, worker: &str, now: $crate::Timestamp, max: usize, starts: usize,
                lease: ::core::time::Duration
            ) -> Vec<$crate::Lease>;
            async fn claim_suspect(
                job: &str, worker: &str, now: $crate::Timestamp, lease: ::core::time::Duration
            ) -> Option<$crate::Lease>;
            async fn settle(
                settlements: Vec<$crate::Settlement>, started: Vec<$crate::Start>,
                now: $crate::Timestamp
            ) -> Vec<bool>;
            async fn extend(
                leases: Vec<$crate::LeaseKey>, started: Vec<$crate::Start>,
                until: $crate::Timestamp
            ) -> Vec<bool>;
            async fn expire(job: &str, workers: Vec<String>, now: $crate::Timestamp) -> u64;
            async fn next_due(job: &str) -> Option<$crate::Timestamp>;
            async fn next_suspect(job: &str) -> Option<$crate::Timestamp>;
            async fn waiting(job: &str, most: u64) -> u64;
            async fn counts(job: &str) -> $crate::Counts;
            async fn item(job: &str, id: &str) -> Option<$crate::ItemRecord>;
            async fn list(
                filter: &$crate::Filter, after: Option<$crate::Cursor>, max: usize
            ) -> $crate::Page<$crate::ItemRecord>;
            async fn stats(filter: &$crate::Filter) -> Vec<$crate::Group>;
            async fn minutes(job: &str, since: $crate::Timestamp) -> Vec<$crate::Minute>;
            async fn jobs(
                after: Option<$crate::Cursor>, max: usize
            ) -> $crate::Page<$crate::JobRow>;
            async fn redrive(
                filter: &$crate::Filter, max: Option<u64>, now: $crate::Timestamp,
                every: ::core::time::Duration
            ) -> u64;
            async fn purge(filter: &$crate::Filter) -> u64;
            async fn skip(
                job: &str, max: usize, why: $crate::Failure, now: $crate::Timestamp
            ) -> u64;
            async fn edit(job: &str, id: &str, payload: String) -> bool;
            async fn remove(job: &str, max: usize, keys: Vec<String>) -> u64;
            async fn import(items: Vec<$crate::ItemRecord>, now: $crate::Timestamp) -> u64;
            async fn get(key: &str) -> Option<(u64, String)>;
            async fn cas(key: &str, revision: u64, value: &str) -> bool;
            async fn values(prefix: &str) -> Vec<(String, String)>;
            async fn find_or_insert(
                prefix: &str,
                choose: impl FnMut(
                    &[(String, String)],
                ) -> $crate::store::StoreResult<(String, String)> + Send + 'static
            ) -> (String, String);
        }
    };
    ($($(#[$meta:meta])* $self:pat => $store:expr),+ $(,)?) => {
        fn now(&self) -> $crate::Timestamp {
            match self {
                $($(#[$meta])* $self => $store.now(),)+
            }
        }

        $crate::delegate_store! { @methods ($($(#[$meta])* $self => $store),+)
            async fn changed(job: &str, seen: u64) -> u64;
        }

        $crate::delegate_store! { @queries $($(#[$meta])* $self => $store),+ }
    };
}
