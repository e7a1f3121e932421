//! Sources of items, and their recognition on resume.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::store::NewItem;
use retry_workflow::work::{AttemptReport, WorkItem, WorkOutcome};
use retry_workflow::{
    ItemState, Job, JobRunner, JobStatus, Source, SqliteStore, StopReason, Store, Work, Workflow,
    WorkflowError, keyed,
};
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn items_are_known_again_by_their_keys() {
    let store = SqliteStore::in_memory();
    let run = |orders: Vec<String>| {
        Workflow::new("keys")
            .job_id("keys")
            .store(store.clone())
            .run(keyed(orders, |order: &String| order.clone()), |_: String, _| async {
                Ok::<_, String>(())
            })
    };
    run(vec!["a".into(), "b".into()]).await.unwrap();
    let report = run(vec!["c".into(), "b".into(), "a".into()]).await.unwrap();
    assert_eq!((report.succeeded(), report.counts.attempts), (3, 3));
    assert_eq!(store.item("keys", "c").await.unwrap().unwrap().state, ItemState::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_items_is_taken_as_it_comes() {
    struct Slow(u32, std::pin::Pin<Box<tokio::time::Sleep>>);

    impl futures_core::Stream for Slow {
        type Item = u32;

        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<u32>> {
            std::task::ready!(self.1.as_mut().poll(cx));
            let next = Instant::now() + Duration::from_secs(10);
            self.1.as_mut().reset(next);
            self.0 += 1;
            std::task::Poll::Ready((self.0 <= 5).then_some(self.0))
        }
    }

    use std::future::Future as _;
    let start = Instant::now();
    let stream = Slow(0, Box::pin(tokio::time::sleep(Duration::from_secs(10))));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let report = Workflow::new("stream")
        .run(stream, {
            let seen = seen.clone();
            move |_: u32, _| {
                seen.lock().unwrap().push(start.elapsed().as_secs());
                async { Ok::<_, String>(()) }
            }
        })
        .await
        .unwrap();
    assert_eq!(report.succeeded(), 5);
    assert_eq!(*seen.lock().unwrap(), [10, 20, 30, 40, 50]);
}

/// A stream that is cut off after its third item.
struct Endless(u32);

impl futures_core::Stream for Endless {
    type Item = u32;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<u32>> {
        self.0 += 1;
        if self.0 <= 3 { std::task::Poll::Ready(Some(self.0)) } else { std::task::Poll::Pending }
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_with_partly_read_input_does_not_finish() {
    let store = SqliteStore::in_memory();
    let workflow = || Workflow::new("half").store(store.clone());
    let handler = |_: u32, _: retry_workflow::ItemContext| async { Ok::<_, String>(()) };
    let stop = tokio::time::sleep(Duration::from_secs(5));
    let report = workflow().stop_on(stop).run(Endless(0), handler).await.unwrap();
    assert_eq!((report.succeeded(), report.stopped()), (3, Some(&StopReason::Requested)));
    let report = workflow().resume("half-1", handler).await.unwrap();
    assert_eq!(report.stopped(), Some(&StopReason::InputIncomplete), "{report}");
    let report = workflow().run(1..=5_u32, handler).await.unwrap();
    assert_eq!((report.job.id.as_str(), report.succeeded(), report.stopped()), ("half-1", 5, None));
}

#[tokio::test(start_paused = true)]
async fn other_items_given_to_a_stopped_job_are_not_lost() {
    let store = SqliteStore::in_memory();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let run = |stop: u64, items: Vec<String>| {
        let seen = seen.clone();
        Workflow::new("nightly")
            .store(store.clone())
            .max_parallel(1)
            .stop_on(tokio::time::sleep(Duration::from_secs(stop)))
            .run(items, move |item: String, _| {
                seen.lock().unwrap().push(item);
                async {
                    tokio::time::sleep(Duration::from_secs(10)).await;
                    Ok::<_, String>(())
                }
            })
    };
    let names = |names: [&str; 3]| names.map(str::to_owned).to_vec();
    run(15, names(["y1", "y2", "y3"])).await.unwrap();
    let report = run(1_000, names(["t1", "t2", "t3"])).await.unwrap();
    assert_eq!(report.succeeded(), 6);
    assert_eq!(*seen.lock().unwrap(), ["y1", "y2", "y3", "t1", "t2", "t3"]);

    let other = Workflow::new("other").store(store.clone()).job_id("nightly-1");
    let error = other.run([1], |_: u32, _| async { Ok::<_, String>(()) }).await.unwrap_err();
    assert!(error.to_string().contains("choose another `job_id`"), "{error}");
}

/// A source that fails after its first batch.
struct Failing(u32);

impl Source for Failing {
    async fn next_batch(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        self.0 += 1;
        if self.0 == 1 {
            return Ok(Some((0..8).map(|id| NewItem::new(id.to_string(), "1")).collect()));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        Err(WorkflowError::input("page 2 is gone\nsee the log"))
    }
}

struct Slow;

impl Work for Slow {
    async fn attempt(&self, _: WorkItem<'_>) -> AttemptReport {
        tokio::time::sleep(Duration::from_secs(10)).await;
        AttemptReport::new(WorkOutcome::Succeeded(None))
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_fails_stops_the_job_as_a_request_does() {
    let store = SqliteStore::in_memory();
    let finished = Arc::new(Mutex::new(None));
    let report = Arc::clone(&finished);
    let error = JobRunner::new("import")
        .store(store.clone())
        .max_parallel(4)
        .on_finish(|ended| async move { *report.lock().unwrap() = Some(ended) })
        .run(Failing(0), Slow)
        .await
        .unwrap_err();
    assert!(matches!(error, WorkflowError::Input(_)), "{error}");
    let counts = store.counts("import-1").await.unwrap();
    assert_eq!((counts.succeeded, counts.pending, counts.leased), (4, 4, 0));
    let reason = StopReason::Input { message: "page 2 is gone".into() };
    let job = Job::get(&store, "import-1").await.unwrap();
    assert_eq!(job.status, JobStatus::Stopped { reason: reason.clone() });
    let report = finished.lock().unwrap().take().expect("`on_finish` has run");
    assert_eq!((report.stopped(), report.succeeded()), (Some(&reason), 4));
    assert!(report.to_string().contains("stopped: its items cannot be read: page 2 is gone"));
}

#[tokio::test(start_paused = true)]
async fn items_before_one_that_is_not_json_are_kept() {
    // JSON has no objects with such keys.
    type Prices = BTreeMap<(u32, u32), u32>;
    let store = SqliteStore::in_memory();
    let prices = [Prices::new(), Prices::new(), Prices::from([((1, 2), 3)]), Prices::new()];
    let error = Workflow::new("prices")
        .store(store.clone())
        .run(prices, |_: Prices, _| async { Ok::<_, String>(()) })
        .await
        .unwrap_err();
    assert!(matches!(&error, WorkflowError::Item { item, .. } if item == "3"), "{error}");
    assert_eq!(store.counts("prices-1").await.unwrap().total(), 2);
    let job = Job::get(&store, "prices-1").await.unwrap();
    let reason = StopReason::Input { message: error.to_string() };
    assert_eq!(job.status, JobStatus::Stopped { reason });
}
