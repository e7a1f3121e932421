//! A service that allows each of its hosts so many calls a second, and two workers on one store that
//! are killed now and then.
//!
//! These are real processes and real time, so that calls bunch up when the machine is busy; how
//! exactly a rate is kept is tested on virtual time, with the library. With
//! `LIMIT_ITEMS=20000 LIMIT_RATE=40 LIMIT_STRICT=1` it is measured on a quiet machine.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use retry_tests_support::service::{Limits, Service, call, host};
use retry_workflow::{Rate, Store, Workflow, keyed};
use retry_workflow_postgres::PostgresStore;

use super::fixture::Place;

const URL: &str = "RETRY_TEST_LIMITS_OF";
const SCHEMA: &str = "RETRY_TEST_LIMITS_IN";
const PORT: &str = "RETRY_TEST_SERVICE";

fn limits() -> Limits {
    Limits::of(2_000, 10)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    let Ok(url) = std::env::var(URL) else { return };
    let options = PostgresStore::options().schema(std::env::var(SCHEMA).unwrap()).pool_size(3);
    let port: u16 = std::env::var(PORT).unwrap().parse().unwrap();
    let limit: Rate = format!("{}/s", limits().rate).parse().unwrap();
    Workflow::new("hosts")
        .job_id("hosts")
        .store(options.connect(&url).await.unwrap())
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

fn start(place: &Place, service: &Service) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "limits::worker", "--nocapture"])
        .env(URL, &place.url)
        .env(SCHEMA, &place.schema)
        .env(PORT, service.port().to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn no_host_sees_more_than_its_rate_from_two_workers_that_are_killed() {
    let Some(place) = Place::new() else { return };
    let (store, service) = (place.open().await, Service::start());
    limits().keep(&service, || start(&place, &service));
    let counts = store.counts("hosts").await.unwrap();
    assert_eq!(counts.succeeded, u64::from(limits().items), "{counts:?}");
}
