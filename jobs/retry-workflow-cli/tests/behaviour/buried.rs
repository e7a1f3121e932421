//! Jobs whose process is killed again and again: no healthy item becomes a dead letter, but the
//! item that kills its process does.
//!
//! These tests use real processes and real time, because they test what a killed process leaves
//! behind. The workers are this very program: the tests [`worker`] and [`poisoned_worker`] act as
//! workers if the environment names a store. They are tests of the library, and stand here because
//! they wait: beside those of the command, which compute, and by their name before them.
//!
//! `KILLS=100 KILL_ITEMS=5000 cargo test -p retry-workflow-cli --test behaviour buried:: -- --nocapture`
//! kills more.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use retry_tests_support::kills::{ATTEMPTS, failures, items_until, number};
use retry_workflow::store::AttemptOutcome;
use retry_workflow::{
    Filter, ItemState, Job, JobStatus, SqliteStore, Store, Workflow, keyed, policy,
};

const JOBS: [&str; 4] = ["one", "two", "three", "four"];
const FOLDER: &str = "RETRY_WORKFLOW_TEST_FOLDER";
/// A file in the folder: once it is there, the last item of each job comes.
const LAST: &str = "last";

fn kills() -> u32 {
    number("KILLS", 12)
}

fn items() -> u32 {
    number("KILL_ITEMS", 1_500)
}

/// A worker on four jobs at once, until it is killed or the jobs are done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let store = SqliteStore::open(folder.join("store.db")).unwrap();
    let jobs: Vec<_> = JOBS
        .into_iter()
        .map(|job| {
            let log = folder.join(job);
            let log = Arc::new(OpenOptions::new().append(true).create(true).open(log).unwrap());
            let work = Workflow::new("kill")
                .job_id(job)
                .store(store.clone())
                .retry(policy!(attempts = 3, initial_delay = "50ms", backoff = fixed, jitter))
                .lease(Duration::from_secs(1))
                .max_parallel(4)
                .run(
                    keyed(items_until(items(), folder.join(LAST)), u32::to_string),
                    move |item: u32, cx| {
                        let log = Arc::clone(&log);
                        async move {
                            // A single write, so that lines of several processes do not mix.
                            let line = format!("{} {} {}\n", cx.id(), cx.attempt(), cx.worker());
                            (&*log).write_all(line.as_bytes()).unwrap();
                            tokio::time::sleep(Duration::from_millis(4)).await;
                            if cx.retry_count() < failures(item) {
                                Err(format!("item {item} is not ready"))
                            } else {
                                Ok(())
                            }
                        }
                    },
                );
            tokio::spawn(work)
        })
        .collect();
    for job in jobs {
        job.await.unwrap().unwrap();
    }
}

fn start(folder: &Path, worker: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", worker, "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// The size of the workers' notes about attempts that began.
fn begun(folder: &Path) -> u64 {
    let written = |job| fs::metadata(folder.join(job)).map_or(0, |log| log.len());
    JOBS.iter().map(written).sum()
}

#[tokio::test]
async fn no_item_of_four_jobs_is_buried_by_the_kills_of_their_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let store = SqliteStore::open(folder.join("store.db")).unwrap();
    let random = RandomState::new();
    for kill in 0..kills() {
        let before = begun(folder);
        let mut child = start(folder, "buried::worker");
        // Every other one is hit while it works, the rest at any moment since they start.
        while kill % 2 == 0 && begun(folder) == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let moment = random.hash_one(kill) % if kill % 2 == 0 { 100 } else { 500 };
        tokio::time::sleep(Duration::from_millis(moment)).await;
        child.kill().unwrap();
        let exit = child.wait().unwrap();
        assert!(!exit.success(), "the jobs have ended before their last items have come");
    }
    fs::write(folder.join(LAST), "").unwrap();
    // Two workers at once, until the end.
    let (mut one, mut two) = (start(folder, "buried::worker"), start(folder, "buried::worker"));
    assert!(one.wait().unwrap().success() && two.wait().unwrap().success());
    let mut killed = 0;
    for job in JOBS {
        let log = fs::read_to_string(folder.join(job)).unwrap();
        let of_this = check(&store, job, &log).await;
        println!("{job}: {} items, {} kills hit {of_this} attempts", items(), kills());
        killed += of_this;
    }
    assert!(killed > 0, "no kill has hit an attempt");
}

/// Compares what became of the items of a job with the processes' own log; returns how many
/// attempts were killed.
async fn check(store: &SqliteStore, job: &str, log: &str) -> usize {
    assert_eq!(Job::find(store, job).await.unwrap().unwrap().status, JobStatus::Finished);
    let counts = store.counts(job).await.unwrap();
    assert_eq!(counts.total(), u64::from(items()));
    assert_eq!(counts.succeeded + counts.dead, u64::from(items()));

    // Item → attempt → worker.
    let mut executed: BTreeMap<&str, BTreeMap<u32, &str>> = BTreeMap::new();
    for line in log.lines() {
        let [item, attempt, worker] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let attempt = attempt.parse().unwrap();
        let before = executed.entry(item).or_default().insert(attempt, worker);
        assert_eq!(before, None, "attempt {attempt} of item {item} was made twice");
    }

    let (mut lost_rows, mut killed) = (0, 0);
    for number in 1..=items() {
        let id = number.to_string();
        let item = store.item(job, &id).await.unwrap().unwrap_or_else(|| panic!("{id} is lost"));
        let dead = failures(number) >= ATTEMPTS;
        let expected = if dead { ItemState::Dead } else { ItemState::Succeeded };
        assert_eq!(item.state, expected, "{item:?}");
        assert!(item.failure.as_ref().is_none_or(|failure| failure.class == "other"), "{item:?}");

        // Numbers increase; a lease that ended with its worker before the attempt began has none.
        let attempts: Vec<u32> = item.history.iter().map(|row| row.attempt).collect();
        assert!(attempts.is_sorted_by(|one, next| one < next), "{item:?}");
        assert!(attempts.last() <= Some(&item.attempt), "{item:?}");
        let settled =
            |row: &&retry_workflow::store::AttemptRecord| row.outcome != AttemptOutcome::Lost;
        // Never more than the policy allows, which does not count lost attempts.
        let policys = item.history.iter().filter(settled).count();
        let wanted = failures(number).min(ATTEMPTS - 1) + 1;
        assert_eq!(policys, usize::try_from(wanted).unwrap(), "{item:?}");

        let executed = executed.remove(id.as_str()).unwrap_or_default();
        for row in item.history.iter().filter(settled) {
            let worker = executed.get(&row.attempt);
            assert_eq!(worker, Some(&&*row.worker), "settled, and not executed: {item:?}");
        }
        lost_rows += item.history.len() - policys;
        // One that was killed as it began has no row.
        killed += executed.len() - policys;
    }
    assert!(executed.is_empty(), "executed, and not in the job: {executed:?}");
    assert_eq!(counts.lost, u64::try_from(lost_rows).unwrap());

    let page = store.list(&Filter::job(job), None, items() as usize).await.unwrap();
    let dead: BTreeSet<String> = page.items.into_iter().map(|item| item.id).collect();
    assert_eq!(u64::try_from(dead.len()).unwrap(), counts.dead);
    killed
}

/// A worker that is killed by one of its items every time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn poisoned_worker() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let store = SqliteStore::open(Path::new(&folder).join("store.db")).unwrap();
    // If the death of a process can be detected, its leases end with it.
    let lease = if cfg!(target_os = "linux") { 3_600_000 } else { 300 };
    let run = |job: &'static str| {
        let work = Workflow::new("poison")
            .job_id(job)
            .store(store.clone())
            .lease(Duration::from_millis(lease))
            .max_parallel(4)
            .run(keyed(1..=200, u32::to_string), move |item: u32, _| async move {
                tokio::time::sleep(Duration::from_millis(2)).await;
                if item == 20 && job == JOBS[0] {
                    std::process::abort();
                }
                Ok::<_, String>(())
            });
        tokio::spawn(work)
    };
    for job in JOBS.map(run) {
        job.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn an_item_that_kills_its_workers_is_the_only_dead_letter() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut workers = 0;
    while !start(folder, "buried::poisoned_worker").wait().unwrap().success() {
        workers += 1;
        assert!(workers < 20, "it takes down one worker after the other");
    }
    // Twice beside other items, and three times alone.
    assert_eq!(workers, 5);
    let store = SqliteStore::open(folder.join("store.db")).unwrap();
    for job in JOBS {
        let counts = store.counts(job).await.unwrap();
        let dead = u64::from(job == JOBS[0]);
        assert_eq!((counts.succeeded, counts.dead), (200 - dead, dead), "{job}");
    }
    let poison = store.item(JOBS[0], "20").await.unwrap().unwrap();
    let failure = poison.failure.as_ref().unwrap();
    assert_eq!(failure.class, "lost");
    assert_eq!(failure.message, "3 workers in a row died while working on this item alone");
    // Beside other items, its start may not have been recorded before the process died.
    assert!((3..=5).contains(&poison.history.len()), "{poison:?}");
    assert!(poison.history.iter().all(|row| row.outcome == AttemptOutcome::Lost));
}
