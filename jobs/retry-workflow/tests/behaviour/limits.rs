//! A service that allows each of its hosts so many calls a second, and two workers on one store that
//! are killed now and then.
//!
//! These are real processes and real time, so that calls bunch up when the machine is busy; how
//! exactly a rate is kept is tested on virtual time, in `workflow::rates`. With
//! `LIMIT_ITEMS=20000 LIMIT_RATE=40 LIMIT_STRICT=1` it is measured on a quiet machine.
#![cfg(all(unix, feature = "sqlite"))]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use retry_tests_support::service::{Limits, Service, call, host};
use retry_workflow::{Rate, SqliteStore, Store, Workflow, keyed};

const FOLDER: &str = "RETRY_WORKFLOW_TEST_LIMITS";
const PORT: &str = "RETRY_WORKFLOW_TEST_SERVICE";

fn limits() -> Limits {
    Limits::of(2_000, 12)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let port: u16 = std::env::var(PORT).unwrap().parse().unwrap();
    let limit: Rate = format!("{}/s", limits().rate).parse().unwrap();
    Workflow::new("hosts")
        .job_id("hosts")
        .store(SqliteStore::open(Path::new(&folder).join("store.db")).unwrap())
        .lease(Duration::from_secs(1))
        .max_parallel(20)
        .rate_per(move |item| item.as_u64().map(host), limit)
        .run(keyed(1..=limits().items, u32::to_string), move |item: u32, _| async move {
            let host = host(item.into());
            tokio::task::spawn_blocking(move || call(port, &host)).await.unwrap()
        })
        .await
        .unwrap();
}

fn start(folder: &Path, service: &Service) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "limits::worker", "--nocapture"])
        .env(FOLDER, folder)
        .env(PORT, service.port().to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn no_host_sees_more_than_its_rate_from_two_workers_that_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start();
    limits().keep(&service, || start(folder.path(), &service));
    let store = SqliteStore::open(folder.path().join("store.db")).unwrap();
    let counts = store.counts("hosts").await.unwrap();
    assert_eq!(counts.succeeded, u64::from(limits().items), "{counts:?}");
}
