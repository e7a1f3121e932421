//! Four workers on one job, which are killed and stopped again and again, on a server that
//! crashes: each item ends once.
//!
//! With real processes and real time. The workers are this very program: the test [`worker`] is
//! one, if a server is named. `KILLS=25 CRASHES=5 KILL_ITEMS=10000 cargo test -p
//! retry-workflow-postgres --test behaviour processes -- --nocapture` does more.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use retry_workflow::{
    AttemptOutcome, Filter, ItemState, Job, JobStatus, Store, Workflow, keyed, policy,
};
use retry_workflow_postgres::PostgresStore;

use super::fixture::{OwnServer, server};

const ATTEMPTS: u32 = 3;
const WORKERS: u64 = 4;
const JOB: &str = "import";
const URL: &str = "RETRY_TEST_WORKER_OF";

fn number(variable: &str, default: u32) -> u32 {
    std::env::var(variable).map_or(default, |number| number.parse().unwrap())
}

fn items() -> u32 {
    number("KILL_ITEMS", 2_000)
}

/// How many attempts of an item fail, from none to all.
fn failures(item: u32) -> u32 {
    let mut hasher = DefaultHasher::new();
    item.hash(&mut hasher);
    match hasher.finish() % 20 {
        0 => ATTEMPTS,
        1 => 2,
        2 | 3 => 1,
        _ => 0,
    }
}

/// A worker on the job, until it is killed or the job is done.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    let Ok(url) = std::env::var(URL) else { return };
    let store = PostgresStore::options().pool_size(3).patience(Duration::from_secs(60));
    let store = store.connect(&url).await.unwrap();
    let work = Workflow::new("import")
        .job_id(JOB)
        .store(store)
        .retry(policy!(attempts = 3, initial_delay = "50ms", backoff = fixed, jitter))
        .lease(Duration::from_secs(1))
        .max_parallel(8)
        .run(keyed(1..=items(), u32::to_string), |item: u32, cx| async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            if cx.retry_count() < failures(item) {
                Err(format!("item {item} is not ready"))
            } else {
                Ok(())
            }
        });
    work.await.unwrap();
}

fn start(url: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::worker", "--nocapture"])
        .env(URL, url)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_item_ends_once_whoever_is_killed_stopped_or_crashes() {
    if server().is_none() {
        return;
    }
    let Some((url, server)) = OwnServer::start(&["fsync=off"]) else { return };
    // It creates the tables.
    let store = PostgresStore::connect(&url).await.unwrap();
    let (kills, crashes) = (number("KILLS", 6), number("CRASHES", 1));
    let random = RandomState::new();
    let mut workers: Vec<Child> = (0..WORKERS).map(|_| start(&url)).collect();
    let (mut killed, mut stopped) = (0, None);
    for step in 0..kills {
        let moment = 300 + random.hash_one(step) % 500;
        tokio::time::sleep(Duration::from_millis(moment)).await;
        let place = usize::try_from(random.hash_one((step, "who")) % WORKERS).unwrap();
        if step % 6 == 2 && stopped.is_none() {
            // For longer than its leases.
            signal(&workers[place], "-STOP");
            stopped = Some((place, Instant::now()));
            continue;
        }
        if let Some((place, _)) = stopped.take_if(|(_, since)| since.elapsed().as_millis() > 1800) {
            signal(&workers[place], "-CONT");
        }
        if crashes > 0 && step % (kills / crashes).max(1) == 1 {
            server.crash();
            tokio::time::sleep(Duration::from_millis(200)).await;
            server.resume();
        }
        if stopped.is_none_or(|(stopped, _)| stopped != place) {
            workers[place].kill().unwrap();
            killed += u32::from(!workers[place].wait().unwrap().success());
            workers[place] = start(&url);
        }
    }
    if let Some((place, _)) = stopped {
        tokio::time::sleep(Duration::from_millis(1500)).await;
        signal(&workers[place], "-CONT");
    }
    assert!(killed > kills / 3, "the job has ended after {killed} kills");
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success(), "a worker was left alone and has failed");
    }
    check(&store).await;
}

/// What has become of the items.
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
        // Never above the policy, and nothing settled twice; a lost attempt is none of its.
        let settled = item.history.iter().filter(|row| row.outcome != AttemptOutcome::Lost).count();
        let wanted = failures(number).min(ATTEMPTS - 1) + 1;
        assert_eq!(settled, usize::try_from(wanted).unwrap(), "{item:?}");
        lost += item.history.len() - settled;
    }
    assert_eq!(counts.lost, u64::try_from(lost).unwrap());
    let letters = store.list(&Filter::job(JOB), None, items() as usize).await.unwrap();
    assert_eq!(u64::try_from(letters.items.len()).unwrap(), counts.dead);
    println!("{} items, {} dead letters, {lost} attempts lost", items(), counts.dead);
}
