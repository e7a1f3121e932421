//! One job of 10,000 items with failures and waits, whose process is killed 25 times.
//!
//! With real processes and real time, for what is tested is what a killed process leaves
//! behind. The workers are this very program: the test [`worker`] is one, if a store is named.
#![cfg(all(unix, feature = "sqlite"))]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use retry_workflow::{
    AttemptOutcome, Filter, ItemState, Job, JobStatus, SqliteStore, Store, Workflow, keyed, policy,
};

const ITEMS: u32 = 10_000;
const KILLS: u32 = 25;
const ATTEMPTS: u32 = 3;
const JOB: &str = "killed";
const FOLDER: &str = "RETRY_WORKFLOW_TEST_FOLDER";

/// How many attempts of an item fail, from none to all.
fn failures(item: u32) -> u32 {
    let mut hasher = DefaultHasher::new();
    item.hash(&mut hasher);
    match hasher.finish() % 10 {
        0 => ATTEMPTS,
        1 => 2,
        2 | 3 => 1,
        _ => 0,
    }
}

/// A worker, until it is killed or the job is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let log = OpenOptions::new().append(true).create(true).open(folder.join("log")).unwrap();
    let log = std::sync::Arc::new(log);
    Workflow::new("kill")
        .job_id(JOB)
        .store(SqliteStore::open(folder.join("store.db")).unwrap())
        .retry(policy!(attempts = 3, initial_delay = "50ms", backoff = fixed, jitter))
        .lease(Duration::from_millis(600))
        .max_parallel(8)
        .run(keyed(1..=ITEMS, u32::to_string), move |item: u32, cx| {
            let log = std::sync::Arc::clone(&log);
            async move {
                // One write: lines of several processes do not mix.
                let line = format!("{} {} {}\n", cx.id(), cx.attempt(), cx.worker());
                (&*log).write_all(line.as_bytes()).unwrap();
                tokio::time::sleep(Duration::from_millis(4)).await;
                if cx.retry_count() < failures(item) {
                    Err(format!("item {item} is not ready"))
                } else {
                    Ok(())
                }
            }
        })
        .await
        .unwrap();
}

fn start(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::worker", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_job_survives_25_kills_of_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let store = SqliteStore::open(folder.join("store.db")).unwrap();
    for kill in 0..KILLS {
        let mut child = start(folder);
        // From the opening of the store to the midst of work, one moment after another.
        let moment = 60 + u64::from(kill * 7919 % 25) * 20;
        tokio::time::sleep(Duration::from_millis(moment)).await;
        let job = Job::find(&store, JOB).await.unwrap();
        assert!(
            job.is_none_or(|job| job.status == JobStatus::Running),
            "it has ended before kill {kill}"
        );
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // Two at once, to the end.
    let (mut one, mut two) = (start(folder), start(folder));
    assert!(one.wait().unwrap().success() && two.wait().unwrap().success());

    let job = Job::find(&store, JOB).await.unwrap().unwrap();
    assert_eq!(job.status, JobStatus::Finished);
    let counts = store.counts(JOB).await.unwrap();
    assert_eq!(counts.total(), u64::from(ITEMS));
    assert_eq!(counts.succeeded + counts.dead, u64::from(ITEMS));
    assert!(counts.lost > 0, "no kill has hit a lease");

    // What was executed, by the processes' own account: item → attempt → worker.
    let log = fs::read_to_string(folder.join("log")).unwrap();
    let mut executed: BTreeMap<&str, BTreeMap<u32, &str>> = BTreeMap::new();
    for line in log.lines() {
        let [item, attempt, worker] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let attempt = attempt.parse().unwrap();
        let before = executed.entry(item).or_default().insert(attempt, worker);
        assert_eq!(before, None, "attempt {attempt} of item {item} was made twice");
    }

    let mut lost_rows = 0;
    for number in 1..=ITEMS {
        let id = number.to_string();
        let item = store.item(JOB, &id).await.unwrap().unwrap_or_else(|| panic!("{id} is lost"));
        let dead = failures(number) >= ATTEMPTS;
        let expected = if dead { ItemState::Dead } else { ItemState::Succeeded };
        assert_eq!(item.state, expected, "{item:?}");

        // Each attempt has one row, settled or lost, by the worker that made it.
        let attempts: Vec<u32> = item.history.iter().map(|row| row.attempt).collect();
        assert_eq!(attempts, (1..=item.attempt).collect::<Vec<_>>(), "{item:?}");
        let settled = |row: &&retry_workflow::AttemptRecord| row.outcome != AttemptOutcome::Lost;
        // Never above the policy; a lost attempt is none of its.
        let policys = item.history.iter().filter(settled).count();
        let wanted = failures(number).min(ATTEMPTS - 1) + 1;
        assert_eq!(policys, usize::try_from(wanted).unwrap(), "{item:?}");

        let executed = executed.remove(id.as_str()).unwrap_or_default();
        for (attempt, worker) in &executed {
            // A lease explains each execution.
            let row = item.history.iter().find(|row| row.attempt == *attempt);
            assert_eq!(row.map(|row| &*row.worker), Some(*worker), "{item:?}");
        }
        for row in item.history.iter().filter(settled) {
            assert!(executed.contains_key(&row.attempt), "settled, and not executed: {item:?}");
        }
        lost_rows += item.history.len() - policys;
    }
    assert!(executed.is_empty(), "executed, and not in the job: {executed:?}");
    assert_eq!(counts.lost, u64::try_from(lost_rows).unwrap());

    let dead: BTreeSet<String> = {
        let page = store.list(&Filter::job(JOB), None, ITEMS as usize).await.unwrap();
        page.items.into_iter().map(|item| item.id).collect()
    };
    assert_eq!(u64::try_from(dead.len()).unwrap(), counts.dead);
}
