//! Idle workers: what wakes them, and how often they query their store in the meantime. On virtual
//! time.

#![cfg(feature = "sqlite")]

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use retry_workflow::job::Request;
use retry_workflow::store::{Alteration, SqliteStore, Store, StoreFuture};
use retry_workflow::{
    Filter, Graph, Job, JobReport, JobStatus, StopReason, Task, Timestamp, Workflow,
};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);

/// Counts the queries of a store.
#[derive(Clone)]
struct Counting<S> {
    store: S,
    queries: Arc<AtomicU64>,
}

impl<S> Counting<S> {
    fn asked(&self) -> &S {
        self.queries.fetch_add(1, Ordering::Relaxed);
        &self.store
    }
}

impl<S: Store> Store for Counting<S> {
    fn now(&self) -> Timestamp {
        self.store.now()
    }

    fn changed<'a>(&'a self, job: &'a str, seen: u64) -> StoreFuture<'a, u64> {
        self.store.changed(job, seen)
    }

    forward!(counting => counting.asked());
}

/// A custom store, which does not notify anyone of changes.
#[derive(Clone)]
struct Silent(SqliteStore);

impl Store for Silent {
    forward!(silent => silent.0);
}

/// Returns one item, and then waits forever.
struct Endless(Option<String>);

impl futures_core::Stream for Endless {
    type Item = String;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<String>> {
        self.0.take().map_or(Poll::Pending, |item| Poll::Ready(Some(item)))
    }
}

/// Starts a job with one item that fails at first, after which its worker is idle. The channel
/// receives the time of each attempt.
async fn idle_worker<S: Store + Clone>(store: &S) -> (JoinHandle<JobReport>, Receiver<Instant>) {
    let (worked, mut attempts) = channel(8);
    let run = Workflow::new("import")
        .store(store.clone())
        .job_id("import-1")
        // So that no heartbeat comes in between.
        .lease(HOUR)
        .run(Endless(Some("a".to_owned())), move |_: String, context| {
            let worked = worked.clone();
            async move {
                worked.send(Instant::now()).await.unwrap();
                if context.run() == 0 { Err("refused") } else { Ok(()) }
            }
        });
    let run = tokio::spawn(async move { run.await.unwrap() });
    attempts.recv().await.unwrap();
    // By then, it has done its initial work.
    sleep(5 * SECOND).await;
    (run, attempts)
}

async fn redrive<S: Store + Clone>(store: &S) {
    let failed = Filter::job("import-1");
    assert_eq!(
        store.alter(&failed, Alteration::redrive(Duration::ZERO), usize::MAX, store.now()).await,
        Ok(1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_redrive_wakes_an_idle_worker_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(folder.path().join("store.db")).unwrap();
    woken_at_once(SqliteStore::in_memory()).await;
    woken_at_once(sqlite).await;
}

async fn woken_at_once<S: Store + Clone>(store: S) {
    let (run, mut attempts) = idle_worker(&store).await;
    sleep(HOUR / 7).await;
    redrive(&store).await;
    let redriven = Instant::now();
    let worked = attempts.recv().await.unwrap();
    assert!(worked - redriven < SECOND / 10, "{:?}", worked - redriven);
    run.abort();
}

#[tokio::test(start_paused = true)]
async fn a_redrive_by_another_process_wakes_an_idle_worker_within_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let store = SqliteStore::open(&path).unwrap();
    let (run, mut attempts) = idle_worker(&store).await;
    // A separate store cannot notify those who wait on the first one.
    redrive(&SqliteStore::open(&path).unwrap()).await;
    let redriven = Instant::now();
    assert!(attempts.recv().await.unwrap() - redriven < SECOND + SECOND / 10);
    run.abort();
}

#[tokio::test(start_paused = true)]
async fn a_store_without_notifications_is_polled_each_second() {
    let store = Silent(SqliteStore::in_memory());
    let (run, mut attempts) = idle_worker(&store).await;
    sleep(HOUR / 7).await;
    redrive(&store).await;
    let redriven = Instant::now();
    assert!(attempts.recv().await.unwrap() - redriven < 2 * SECOND);
    run.abort();
}

#[tokio::test(start_paused = true)]
async fn an_idle_worker_is_paused_at_once() {
    let store = SqliteStore::in_memory();
    let (run, _) = idle_worker(&store).await;
    sleep(HOUR / 7).await;
    let asked = Instant::now();
    assert_eq!(Job::request(&store, "import-1", Request::Pause).await, Ok(true));
    let report = run.await.unwrap();
    assert_eq!(report.job.status, JobStatus::Stopped { reason: StopReason::Paused });
    assert!(asked.elapsed() < SECOND / 10, "{:?}", asked.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_idle_worker_polls_its_store_once_a_minute() {
    let store = Counting { store: SqliteStore::in_memory(), queries: Arc::default() };
    let (run, _) = idle_worker(&store).await;
    let before = store.queries.load(Ordering::Relaxed);
    sleep(HOUR / 6).await;
    let queries = store.queries.load(Ordering::Relaxed) - before;
    // Ten polls: due items, counts, the job record, waiting items, a claim.
    assert!((10..=80).contains(&queries), "{queries} in ten minutes");
    run.abort();
}

/// A task with two dependencies, each ended by a different worker: the one that ends last
/// continues.
#[tokio::test(start_paused = true)]
async fn a_task_that_depends_on_two_workers_starts_without_polling() {
    let store = SqliteStore::in_memory();
    let started = Instant::now();
    let graph = || {
        let task = |name: &str, seconds: u32| {
            Task::new(name, move |_| async move {
                sleep(seconds * SECOND).await;
                Ok::<_, String>(())
            })
        };
        Graph::new("join")
            .job_id("join-1")
            .store(store.clone())
            .max_parallel(1)
            .task(task("one", 10))
            .task(task("two", 11))
            .task(task("both", 5).depends_on(["one", "two"]))
            .run()
    };
    let (one, two) = tokio::join!(graph(), graph());
    assert!(one.unwrap().is_success() && two.unwrap().is_success());
    assert!(started.elapsed() < 18 * SECOND, "{:?}", started.elapsed());
}

/// On real time and several threads, because the answers of a store have to interleave with the
/// polls of each second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_ends_with_its_last_item_in_whatever_order_the_store_answers() {
    let mut jobs = tokio::task::JoinSet::new();
    for number in 0..100 {
        jobs.spawn(async move {
            sleep(Duration::from_millis(number * 5)).await;
            let last = Arc::new(std::sync::Mutex::new(Instant::now()));
            let attempt = {
                let last = Arc::clone(&last);
                move |number: u32, _| {
                    *last.lock().unwrap() = Instant::now();
                    async move { if number.is_multiple_of(2) { Ok(()) } else { Err("it is odd") } }
                }
            };
            let workflow = Workflow::new("prompt").store(SqliteStore::in_memory());
            let report = workflow.run([8, 6, 3, 4], attempt).await.unwrap();
            assert_eq!((report.succeeded(), report.dead()), (3, 1));
            last.lock().unwrap().elapsed()
        });
    }
    while let Some(late) = jobs.join_next().await {
        let late = late.unwrap();
        assert!(late < 6 * SECOND, "{late:?} after the last attempt");
    }
}
