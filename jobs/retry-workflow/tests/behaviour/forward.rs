//! Stores that add something to another one.

/// All methods of a store except `now` and `changed`, passed on to another store; the second
/// argument is a function that passes the answers on.
macro_rules! forward {
    ($self:ident => $store:expr $(, $answer:path)?) => {
        forward! { @$self => $store $(, $answer)?;
            fn enqueue(job: &'a str, items: Vec<retry_workflow::store::NewItem>, due: retry_workflow::Timestamp) -> u64;
            fn claim(job: &'a str, worker: &'a str, now: retry_workflow::Timestamp, selection: retry_workflow::store::Selection, lease: std::time::Duration) -> Vec<retry_workflow::store::Lease>;
            fn settle(settlements: Vec<retry_workflow::store::Settlement>, started: Vec<retry_workflow::store::Start>, now: retry_workflow::Timestamp) -> Vec<bool>;
            fn extend(leases: Vec<retry_workflow::store::LeaseKey>, started: Vec<retry_workflow::store::Start>, until: retry_workflow::Timestamp) -> Vec<bool>;
            fn overview(job: &'a str, most_waiting: u64) -> retry_workflow::store::Overview;
            fn item(job: &'a str, id: &'a str) -> Option<retry_workflow::ItemRecord>;
            fn list(filter: &'a retry_workflow::Filter, after: Option<retry_workflow::store::Cursor>, max: usize) -> retry_workflow::store::Page<retry_workflow::ItemRecord>;
            fn stats(filter: &'a retry_workflow::Filter, newest: Option<usize>) -> Vec<retry_workflow::store::Group>;
            fn failures() -> (u64, u64);
            fn jobs(after: Option<retry_workflow::store::Cursor>, max: usize) -> retry_workflow::store::Page<retry_workflow::store::JobRow>;
            fn alter(filter: &'a retry_workflow::Filter, alteration: retry_workflow::store::Alteration, max: usize, now: retry_workflow::Timestamp) -> u64;
            fn remove(job: &'a str, max: usize, keys: Vec<String>) -> u64;
            fn import(items: Vec<retry_workflow::ItemRecord>, now: retry_workflow::Timestamp) -> u64;
            fn get(key: &'a str) -> Option<(u64, String)>;
            fn cas(key: &'a str, revision: u64, value: &'a str) -> bool;
            fn values(prefix: &'a str) -> Vec<(String, String)>;
            fn find_or_insert(prefix: &'a str, choose: retry_workflow::store::Choose) -> (String, String);
            fn update(keys: Vec<String>, change: retry_workflow::store::Change) -> ();
        }
    };
    (@$self:ident => $store:expr, $answer:path;
        $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)+
    ) => {
        $(#[allow(clippy::elidable_lifetime_names, reason = "most have more than one")]
        fn $name<'a>(&'a self $(, $argument: $type)*) -> retry_workflow::store::StoreFuture<'a, $result> {
            let $self = self;
            $answer($self, $store.$name($($argument),*))
        })+
    };
    (@$self:ident => $store:expr;
        $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)+
    ) => {
        $(#[allow(clippy::elidable_lifetime_names, reason = "most have more than one")]
        fn $name<'a>(&'a self $(, $argument: $type)*) -> retry_workflow::store::StoreFuture<'a, $result> {
            let $self = self;
            $store.$name($($argument),*)
        })+
    };
}
