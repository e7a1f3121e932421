//! A store that is locked, gone, or newer than the program: the page explains it.

use std::path::Path;
use std::time::Duration;

use axum::http::StatusCode;
use retry_workflow::store::{
    Alteration, Change, Choose, Cursor, Group, JobRow, Lease, LeaseKey, NewItem, Overview, Page,
    Selection, Settlement, Start, StoreFuture,
};
use retry_workflow::{Filter, ItemRecord, SqliteStore, Store, StoreError, Timestamp};

use crate::support::get;

/// A store that fails every request with this error.
struct Broken(StoreError);

macro_rules! broken {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)+) => {
        $(#[allow(clippy::elidable_lifetime_names, reason = "most have more than one")]
        fn $name<'a>(&'a self $(, $argument: $type)*) -> StoreFuture<'a, $result> {
            $(let _ = $argument;)*
            let error = self.0.clone();
            Box::pin(async { Err(error) })
        })+
    };
}

/// The methods that do not read items.
macro_rules! broken_otherwise {
    () => {
        broken! {
            fn enqueue(job: &'a str, items: Vec<NewItem>, due: Timestamp) -> u64;
            fn claim(job: &'a str, worker: &'a str, now: Timestamp, selection: Selection, lease: Duration) -> Vec<Lease>;
            fn settle(settlements: Vec<Settlement>, started: Vec<Start>, now: Timestamp) -> Vec<bool>;
            fn extend(leases: Vec<LeaseKey>, started: Vec<Start>, until: Timestamp) -> Vec<bool>;
            fn overview(job: &'a str, most_waiting: u64) -> Overview;
            fn item(job: &'a str, id: &'a str) -> Option<ItemRecord>;
            fn alter(filter: &'a Filter, alteration: Alteration, max: usize, now: Timestamp) -> u64;
            fn remove(job: &'a str, max: usize, keys: Vec<String>) -> u64;
            fn import(items: Vec<ItemRecord>, now: Timestamp) -> u64;
            fn get(key: &'a str) -> Option<(u64, String)>;
            fn cas(key: &'a str, revision: u64, value: &'a str) -> bool;
            fn values(prefix: &'a str) -> Vec<(String, String)>;
            fn find_or_insert(prefix: &'a str, choose: Choose) -> (String, String);
            fn update(keys: Vec<String>, change: Change) -> ();
        }
    };
}

impl Store for Broken {
    broken_otherwise!();
    broken! {
        fn list(filter: &'a Filter, after: Option<Cursor>, max: usize) -> Page<ItemRecord>;
        fn stats(filter: &'a Filter, newest: Option<usize>) -> Vec<Group>;
        fn failures() -> (u64, u64);
        fn jobs(after: Option<Cursor>, max: usize) -> Page<JobRow>;
    }
}

/// A store that never finds anything, and always returns a cursor to continue.
struct Endless(StoreError);

impl Store for Endless {
    broken_otherwise!();

    fn list<'a>(
        &'a self,
        _: &'a Filter,
        after: Option<Cursor>,
        _: usize,
    ) -> StoreFuture<'a, Page<ItemRecord>> {
        let last = after.map_or(0, |after| after.0);
        Box::pin(async move { Ok(Page::new(Vec::new(), Some(Cursor(last + 1)))) })
    }

    fn stats<'a>(&'a self, _: &'a Filter, _: Option<usize>) -> StoreFuture<'a, Vec<Group>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn failures(&self) -> StoreFuture<'_, (u64, u64)> {
        Box::pin(async { Ok((0, 0)) })
    }

    fn jobs(&self, _: Option<Cursor>, _: usize) -> StoreFuture<'_, Page<JobRow>> {
        Box::pin(async { Ok(Page::new(Vec::new(), None)) })
    }
}

#[tokio::test(start_paused = true)]
async fn an_unbounded_search_is_split_into_pages() {
    let app = retry_board::jobs(Endless(StoreError::other("nobody asks")));
    for page in ["dead-letters?after=7", "dead-letters?since=2h+ago", "dead-letters?text=order"] {
        let began = std::time::Instant::now();
        let found = get(&app, &format!("/api/{page}")).await.json();
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{page}");
        assert_eq!(found["is_partial"], true, "{page}");
        assert!(found["next"].as_i64().unwrap() > 7, "{page}");
        get(&app, &format!("/{page}")).await.says("Continue the search");
    }
    // If no group has this class, the items are not searched.
    let none = get(&app, "/api/dead-letters?class=timeout").await.json();
    assert_eq!((&none["is_partial"], &none["next"]), (&false.into(), &serde_json::Value::Null));
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_trouble_has_its_status_and_its_words() {
    let path = || Path::new("/var/lib/jobs.db").to_owned();
    for (error, status, says) in [
        (StoreError::Locked { path: path() }, StatusCode::SERVICE_UNAVAILABLE, "is locked"),
        (
            StoreError::Missing { path: path() },
            StatusCode::SERVICE_UNAVAILABLE,
            "there is no store",
        ),
        (
            StoreError::Replaced { path: path() },
            StatusCode::SERVICE_UNAVAILABLE,
            "was deleted or replaced",
        ),
        (
            StoreError::Newer { path: path(), found: 9, known: 3 },
            StatusCode::INTERNAL_SERVER_ERROR,
            "a newer retry-workflow wrote it",
        ),
        (StoreError::Full { path: path() }, StatusCode::INSUFFICIENT_STORAGE, "the disk is full"),
        (
            StoreError::other("<b>no</b>"),
            StatusCode::INTERNAL_SERVER_ERROR,
            "&lt;b&gt;no&lt;/b&gt;",
        ),
    ] {
        let is_locked = matches!(error, StoreError::Locked { .. });
        let app = retry_board::jobs(Broken(error));
        for page in ["jobs", "job?id=import-1", "dead-letters", "item?job=j&id=i"] {
            let answer = get(&app, &format!("/{page}")).await;
            assert_eq!(answer.status, status, "{page}");
            answer.says("<!DOCTYPE html>").says(says);
            assert_eq!(!answer.header("retry-after").is_empty(), is_locked, "{page}");
            assert_eq!(get(&app, &format!("/api/{page}")).await.json()["status"], status.as_u16());
        }
    }
}

#[tokio::test]
async fn inspecting_a_file_does_not_change_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let store = SqliteStore::open(&path).unwrap();
    retry_workflow::Workflow::new("import")
        .retry(retry_workflow::policy!(attempts = 1))
        .store(store.clone())
        .run([1_u32, 2], |n, _| async move { if n == 2 { Err("no tax rate") } else { Ok(()) } })
        .await
        .ok();
    drop(store);
    let looking = SqliteStore::options().read_only(true).open(&path).unwrap();
    let board = retry_board::Board::new().allow_actions();
    let app = board.jobs(looking);
    get(&app, "/jobs").await.says("import-1");
    // A failed write is reported and does not panic.
    let session = get(&app, "/api/jobs/session").await;
    let csrf = session.json()["csrf"].as_str().unwrap().to_owned();
    let cookie = session.cookie();
    let headers = [
        ("cookie", cookie.as_str()),
        ("x-csrf-token", csrf.as_str()),
        ("content-type", "application/json"),
    ];
    let body = r#"{"job":"import-1"}"#;
    let answer =
        crate::support::ask(&app, axum::http::Method::POST, "/api/re-drive", &headers, body).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{}", answer.text);
}
