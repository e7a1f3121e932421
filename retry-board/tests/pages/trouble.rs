//! A store that is locked, gone, or newer than the program: the page explains it.

use std::path::Path;

use axum::http::StatusCode;
use retry_workflow::{
    Counts, Cursor, Failure, Filter, Group, ItemRecord, JobRow, Lease, LeaseKey, Minute, NewItem,
    Page, Settlement, SqliteStore, Start, Store, StoreError, Timestamp,
};

use crate::support::get;

/// A store that fails every request with this error.
#[derive(Clone)]
struct Broken(StoreError);

macro_rules! broken {
    ($(async fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)+) => {
        $(async fn $name(&self $(, $argument: $type)*) -> Result<$result, StoreError> {
            $(let _ = $argument;)*
            Err(self.0.clone())
        })+
    };
}

/// The methods that do not read items.
macro_rules! broken_otherwise {
    () => {
        broken! {
            async fn enqueue(job: &str, items: Vec<NewItem>, due: Timestamp) -> u64;
            async fn claim(job: &str, worker: &str, now: Timestamp, max: usize, starts: usize, lease: std::time::Duration) -> Vec<Lease>;
            async fn claim_suspect(job: &str, worker: &str, now: Timestamp, lease: std::time::Duration) -> Option<Lease>;
            async fn settle(settlements: Vec<Settlement>, started: Vec<Start>, now: Timestamp) -> Vec<bool>;
            async fn extend(leases: Vec<LeaseKey>, started: Vec<Start>, until: Timestamp) -> Vec<bool>;
            async fn expire(job: &str, workers: Vec<String>, now: Timestamp) -> u64;
            async fn next_due(job: &str) -> Option<Timestamp>;
            async fn next_suspect(job: &str) -> Option<Timestamp>;
            async fn waiting(job: &str, most: u64) -> u64;
            async fn counts(job: &str) -> Counts;
            async fn item(job: &str, id: &str) -> Option<ItemRecord>;
            async fn minutes(job: &str, since: Timestamp) -> Vec<Minute>;
            async fn jobs(after: Option<Cursor>, max: usize) -> Page<JobRow>;
            async fn redrive(filter: &Filter, max: Option<u64>, now: Timestamp, every: std::time::Duration) -> u64;
            async fn purge(filter: &Filter) -> u64;
            async fn skip(job: &str, max: usize, why: Failure, now: Timestamp) -> u64;
            async fn edit(job: &str, id: &str, payload: String) -> bool;
            async fn remove(job: &str, max: usize, keys: Vec<String>) -> u64;
            async fn import(items: Vec<ItemRecord>, now: Timestamp) -> u64;
            async fn get(key: &str) -> Option<(u64, String)>;
            async fn cas(key: &str, revision: u64, value: &str) -> bool;
            async fn values(prefix: &str) -> Vec<(String, String)>;
            async fn find_or_insert(prefix: &str, choose: impl FnMut(&[(String, String)]) -> Result<(String, String), StoreError> + Send + 'static) -> (String, String);
        }
    };
}

impl Store for Broken {
    broken_otherwise!();
    broken! {
        async fn list(filter: &Filter, after: Option<Cursor>, max: usize) -> Page<ItemRecord>;
        async fn stats(filter: &Filter) -> Vec<Group>;
    }
}

/// A store that never finds anything, and always returns a cursor to continue.
#[derive(Clone)]
struct Endless(StoreError);

impl Store for Endless {
    broken_otherwise!();

    async fn list(
        &self,
        _: &Filter,
        after: Option<Cursor>,
        _: usize,
    ) -> Result<Page<ItemRecord>, StoreError> {
        let last = after.map_or(0, |after| after.0);
        Ok(Page::new(Vec::new(), Some(Cursor(last + 1))))
    }

    async fn stats(&self, _: &Filter) -> Result<Vec<Group>, StoreError> {
        Ok(Vec::new())
    }
}

#[tokio::test(start_paused = true)]
async fn a_search_without_an_end_is_answered_in_a_moment_and_goes_on() {
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
async fn a_file_is_looked_at_without_being_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.db");
    let store = SqliteStore::open(&path).unwrap();
    retry_workflow::Workflow::new("import")
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
