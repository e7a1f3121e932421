//! Services that reject items, and jobs that run fewer items at the same time then.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::job::Waits;
use retry_workflow::store::NewItem;
use retry_workflow::work::{AttemptReport, AttemptTimer, WorkItem, WorkOutcome};
use retry_workflow::{
    Class, Failure, Job, JobEvent, JobReport, JobRunner, SqliteStore, Store, WaitReason, Work,
    Workflow, policy,
};

/// A service that works on four requests at a time, for a second each, and rejects others.
#[derive(Clone, Default)]
struct Service {
    running: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
}

impl Service {
    async fn call(self) -> Result<(), &'static str> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let is_free = self.running.fetch_add(1, Ordering::Relaxed) < 4;
        if is_free {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.running.fetch_sub(1, Ordering::Relaxed);
        if is_free { Ok(()) } else { Err("429 Too Many Requests") }
    }
}

fn workflow(classes: Class) -> Workflow {
    Workflow::new("batch").max_parallel(20).slow_down_on(classes)
}

/// Runs 60 items, and returns the number of calls.
async fn batch(workflow: Workflow) -> (JobReport, usize) {
    let service = Service::default();
    let calls = Arc::clone(&service.calls);
    let report = workflow
        .retry(policy!(attempts = 5, initial_delay = "1s"))
        .run(0..60_u32, move |_, _| service.clone().call())
        .await
        .unwrap();
    (report, calls.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn rejections_reduce_the_items_that_run_to_those_that_the_service_accepts() {
    let (report, calls) = batch(workflow(Class::RATE_LIMIT)).await;
    assert_eq!((report.succeeded(), report.dead()), (60, 0), "{report}");
    assert!(calls <= 85, "{calls} calls");

    // Failures of other classes do not.
    for classes in [Class::empty(), Class::TIMEOUT | Class::SERVER_ERROR] {
        let (report, calls) = batch(workflow(classes)).await;
        assert!(calls > 120, "{calls} calls, {report}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reduced_number_is_in_events_and_in_the_record_of_the_job() {
    let store = SqliteStore::in_memory();
    let events: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&events);
    let running = workflow(Class::RATE_LIMIT).store(store.clone()).on_event(move |event| {
        if let JobEvent::Progress { waits_for: Some(WaitReason::Throttled(throttle)), .. } = event {
            seen.lock().unwrap().push(throttle.to_string());
        }
    });
    let running = tokio::spawn(batch(running));
    let lines = loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let job = Job::get(&store, "batch-1").await.unwrap();
        let counts = store.counts("batch-1").await.unwrap();
        let waits = Waits::load(&store, &job, &counts).await.unwrap();
        if !waits.throttled.is_empty() {
            break waits.lines(&counts, retry_workflow::job::Unit::Item, store.now());
        }
    };
    let text = "4 of 20 at the same time, after rejections or for resources".to_owned();
    assert!(lines.contains(&("limited", text)), "{lines:?}");
    let (report, _) = running.await.unwrap();
    assert!(events.lock().unwrap().contains(&"4 of 20".to_owned()), "{events:?}");
    assert!(report.job.workers.is_empty());
}

/// Work whose first attempts are rejected, and whose next ones are released.
#[derive(Clone, Default)]
struct Interrupted {
    running: Arc<AtomicUsize>,
    released: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Work for Interrupted {
    async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
        let timer = AttemptTimer::start();
        if item.context.attempt() == 1 {
            let (wait, checkpoint) = (Duration::from_secs(1), "1".to_owned());
            return AttemptReport::new(WorkOutcome::Retry { wait, checkpoint })
                .record(timer.failed(Failure::new("rate_limit", "429 Too Many Requests")));
        }
        if self.released.fetch_add(1, Ordering::Relaxed) >= 60 {
            return AttemptReport::succeeded(timer, None);
        }
        let running = 1 + self.running.fetch_add(1, Ordering::Relaxed);
        self.most.fetch_max(running, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.running.fetch_sub(1, Ordering::Relaxed);
        AttemptReport::new(WorkOutcome::Released)
    }
}

#[tokio::test(start_paused = true)]
async fn released_items_are_not_counted_as_accepted() {
    let work = Interrupted::default();
    let most = Arc::clone(&work.most);
    let items: Vec<_> = (0..20).map(|n| NewItem::new(n.to_string(), "0")).collect();
    let runner = JobRunner::new("batch").max_parallel(20).slow_down_on(Class::RATE_LIMIT);
    let report = runner.run(items.into_iter(), work).await.unwrap();
    assert_eq!(report.succeeded(), 20, "{report}");
    assert_eq!(most.load(Ordering::Relaxed), 1, "of 20 that were rejected, the last one was alone");
}
