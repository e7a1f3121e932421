//! The time for which a job that stops waits for the items that run.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use retry_workflow::{JobReport, SqliteStore, StopReason, Store, Workflow, keyed};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

/// Runs items that take so many seconds, all at once; those of 0 s never end. Returns the report,
/// and how long it took.
async fn run(workflow: Workflow, items: &[u64]) -> (JobReport, Duration) {
    let began = Instant::now();
    let work = |seconds: u64, _| async move {
        if seconds == 0 {
            pending::<()>().await;
        }
        sleep(Duration::from_secs(seconds)).await;
        Ok::<_, String>(())
    };
    let items = keyed(items.to_vec(), ToString::to_string);
    (workflow.run(items, work).await.unwrap(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn an_item_that_never_ends_is_released_after_the_deadline() {
    let store = SqliteStore::in_memory();
    let workflow = Workflow::new("import").store(store.clone()).deadline(10 * SECOND);
    let (report, took) = run(workflow, &[0, 30, 60]).await;
    assert_eq!(report.stopped(), Some(&StopReason::Deadline));
    assert_eq!((report.succeeded(), report.counts.pending, took.as_secs()), (1, 2, 40));
    // As if it had not begun.
    let item = store.item("import-1", "0").await.unwrap().unwrap();
    assert_eq!((item.attempt, item.history.len(), report.counts.lost), (0, 0, 0));
    let resumed = Workflow::new("import").store(store);
    let handler = |_: u64, _| async { Ok::<_, String>(()) };
    let report = resumed.resume("import-1", handler).await.unwrap();
    assert_eq!((report.succeeded(), report.counts.attempts), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn running_items_end_within_the_time_that_is_set() {
    let stopped = || Workflow::new("import").stop_on(sleep(10 * SECOND));
    let (report, took) = run(stopped().stop_within(5 * SECOND), &[0, 14, 16]).await;
    assert_eq!((report.succeeded(), report.counts.pending, took.as_secs()), (1, 2, 15));
    let (report, took) = run(stopped().stop_within(Duration::ZERO), &[14]).await;
    assert_eq!((report.counts.pending, took.as_secs()), (1, 10));
    // Without one, for as long as they need.
    let (report, took) = run(stopped(), &[3_600]).await;
    assert_eq!((report.succeeded(), took.as_secs()), (1, 3_600));
    let long = stopped().stop_within(Duration::MAX);
    assert_eq!(run(long, &[20]).await.0.succeeded(), 1);
    let deadline = Workflow::new("import").deadline(SECOND).stop_within(2 * SECOND);
    assert_eq!(run(deadline, &[0]).await.1.as_secs(), 3);
}

/// The places of released items under a limit are free for the next worker.
#[tokio::test(start_paused = true)]
async fn a_released_item_frees_its_place() {
    let (store, calls) = (SqliteStore::in_memory(), Arc::new(AtomicU32::new(0)));
    let job = || {
        let key = |_: &serde_json::Value| Some("host".to_owned());
        Workflow::new("import").store(store.clone()).job_id("import-1").concurrency_per(key, 1)
    };
    let stopped = job().stop_on(sleep(10 * SECOND)).stop_within(SECOND);
    let (report, _) = run(stopped, &[0]).await;
    assert_eq!(report.counts.pending, 1);
    let began = Instant::now();
    let handler = move |_: u64, _| {
        calls.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, String>(()) }
    };
    let report = job().resume("import-1", handler).await.unwrap();
    assert!(report.is_success() && began.elapsed() < SECOND, "{report}");
}
