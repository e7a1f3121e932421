//! Four workers on one job, which are killed and stopped again and again, on a server that crashes:
//! each item ends exactly once.
//!
//! This test uses real processes and real time. The workers are this very program: the test
//! [`worker`] acts as one if the environment names a server. To do more, set `KILLS=25`,
//! `CRASHES=5` and `KILL_ITEMS=10000` for
//! `cargo test -p retry-workflow-postgres --test behaviour processes -- --nocapture`.

use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use retry_tests_support::faketime;
use retry_tests_support::kills::{ATTEMPTS, failures, items_until, number};
use retry_workflow::store::AttemptOutcome;
use retry_workflow::{Filter, ItemState, Job, JobStatus, Store, Workflow, keyed, policy};
use retry_workflow_postgres::PostgresStore;

use super::fixture::{OwnServer, Place, server};

const WORKERS: u64 = 4;
const JOB: &str = "import";
const URL: &str = "RETRY_TEST_WORKER_OF";
const SCHEMA: &str = "RETRY_TEST_WORKER_IN";
/// Names a file: once it is there, the last item comes.
const LAST: &str = "RETRY_TEST_WORKER_LAST";

fn items() -> u32 {
    number("KILL_ITEMS", 2_000)
}

/// A worker on the job, until it is killed or the job is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    let Ok(url) = std::env::var(URL) else { return };
    // Without kills, the last item comes at once: this file exists.
    let last = std::env::var_os(LAST).unwrap_or_else(|| "/".into());
    let schema = std::env::var(SCHEMA).unwrap_or_else(|_| "retry".to_owned());
    let options = PostgresStore::options().schema(schema).pool_size(3);
    let store = options.patience(Duration::from_secs(60)).connect(&url).await.unwrap();
    let work = Workflow::new("import")
        .job_id(JOB)
        .store(store)
        .retry(policy!(attempts = 3, initial_delay = "50ms", backoff = fixed, jitter))
        .lease(Duration::from_secs(1))
        .max_parallel(8)
        .run(
            keyed(items_until(items(), last.into()), u32::to_string),
            |item: u32, cx| async move {
                // With 2,000 items for six kills, and 10,000 for 25, there is always work to
                // interrupt.
                tokio::time::sleep(Duration::from_millis(40)).await;
                if cx.retry_count() < failures(item) {
                    Err(format!("item {item} is not ready"))
                } else {
                    Ok(())
                }
            },
        );
    work.await.unwrap();
}

fn command(url: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "processes::worker", "--nocapture"])
        .env(URL, url)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[tokio::test]
async fn workers_with_different_clocks_share_a_job() {
    let (Some(place), Some(library)) = (Place::new(), faketime::library()) else { return };
    let store = place.open().await;
    let begun = store.now();
    let start = |ahead: &str| {
        command(&place.url)
            .env(SCHEMA, &place.schema)
            .env("KILL_ITEMS", "300")
            .env("LD_PRELOAD", &library)
            .env("FAKETIME", ahead)
            // Durations are measured with the monotonic clock, which cannot be set.
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("DONT_FAKE_MONOTONIC", "1")
            .spawn()
            .unwrap()
    };
    for mut worker in [start("+2h"), start("-2h")] {
        assert!(worker.wait().unwrap().success());
    }
    let counts = store.counts(JOB).await.unwrap();
    assert_eq!((counts.ended(), counts.lost), (300, 0), "{counts:?}");
    let mut workers = BTreeSet::new();
    for number in 1..=300 {
        let item = store.item(JOB, &number.to_string()).await.unwrap().unwrap();
        let ended = item.ended.unwrap();
        assert!(begun <= ended && ended <= store.now(), "{item:?}");
        workers.extend(item.history.into_iter().map(|row| row.worker));
    }
    assert_eq!(workers.len(), 2, "both have worked: {workers:?}");
}

fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_item_ends_once_if_workers_and_the_server_are_killed() {
    if server().is_none() {
        return;
    }
    let Some((url, server)) = OwnServer::start(&["fsync=off"]) else { return };
    // Connecting creates the tables.
    let store = PostgresStore::connect(&url).await.unwrap();
    let (kills, crashes) = (number("KILLS", 6), number("CRASHES", 1));
    let folder = tempfile::tempdir().unwrap();
    let last = folder.path().join("last");
    let start = || command(&url).env(LAST, &last).spawn().unwrap();
    let random = RandomState::new();
    let mut workers: Vec<Child> = (0..WORKERS).map(|_| start()).collect();
    let mut stopped: Option<(usize, Instant)> = None;
    for step in 0..kills {
        let moment = 300 + random.hash_one(step) % 500;
        tokio::time::sleep(Duration::from_millis(moment)).await;
        // For longer than its leases last.
        if let Some((place, _)) = stopped.take_if(|(_, since)| since.elapsed().as_millis() > 1800) {
            signal(&workers[place], "-CONT");
        }
        if crashes > 0 && step % (kills / crashes).max(1) == 1 {
            server.crash();
            tokio::time::sleep(Duration::from_millis(200)).await;
            server.resume();
        }
        let mut place = usize::try_from(random.hash_one((step, "who")) % WORKERS).unwrap();
        if stopped.is_some_and(|(stopped, _)| stopped == place) {
            place = (place + 1) % workers.len();
        }
        if step % 6 == 2 && stopped.is_none() {
            signal(&workers[place], "-STOP");
            stopped = Some((place, Instant::now()));
        } else {
            workers[place].kill().unwrap();
            let exit = workers[place].wait().unwrap();
            assert!(!exit.success(), "a worker has ended before the last item has come");
            workers[place] = start();
        }
    }
    File::create(&last).unwrap();
    if let Some((place, _)) = stopped {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        signal(&workers[place], "-CONT");
    }
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success(), "a worker was left alone and has failed");
    }
    check(&store).await;
}

/// Checks what became of the items.
async fn check(store: &PostgresStore) {
    assert_eq!(Job::find(store, JOB).await.unwrap().unwrap().status, JobStatus::Finished);
    let counts = store.counts(JOB).await.unwrap();
    assert_eq!(counts.succeeded + counts.dead, u64::from(items()));
    assert_eq!(counts.total(), u64::from(items()));
    let mut lost = 0;
    for number in 1..=items() {
        let item = store.item(JOB, &number.to_string()).await.unwrap().unwrap();
        let is_dead = failures(number) >= ATTEMPTS;
        let expected = if is_dead { ItemState::Dead } else { ItemState::Succeeded };
        assert_eq!(item.state, expected, "{item:?}");
        assert!(item.history.is_sorted_by(|one, next| one.attempt < next.attempt), "{item:?}");
        // Never more than the policy allows, and nothing settled twice; lost attempts do not count.
        let settled = item.history.iter().filter(|row| row.outcome != AttemptOutcome::Lost).count();
        let wanted = failures(number).min(ATTEMPTS - 1) + 1;
        assert_eq!(settled, usize::try_from(wanted).unwrap(), "{item:?}");
        lost += item.history.len() - settled;
    }
    assert_eq!(counts.lost, u64::try_from(lost).unwrap());
    assert!(lost > 0, "no kill has hit an attempt");
    let letters = store.list(&Filter::job(JOB), None, items() as usize).await.unwrap();
    assert_eq!(u64::try_from(letters.items.len()).unwrap(), counts.dead);
    println!("{} items, {} dead letters, {lost} attempts lost", items(), counts.dead);
}
