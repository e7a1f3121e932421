//! Items that cannot begin, because the machine lacks the resources to run more of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::store::NewItem;
use retry_workflow::work::{AttemptReport, AttemptTimer, WorkItem, WorkOutcome};
use retry_workflow::{
    BreakerConfig, ErrorPolicy, Failure, JobEvent, JobRunner, SqliteStore, StopReason, Store, Work,
};

fn items(count: usize) -> std::vec::IntoIter<NewItem> {
    let items: Vec<_> = (0..count).map(|id| NewItem::new(id.to_string(), "null")).collect();
    items.into_iter()
}

fn not_begun(checkpoint: Option<&str>) -> AttemptReport {
    let why = "too many open files".to_owned();
    let checkpoint = checkpoint.map(str::to_owned);
    AttemptReport::new(WorkOutcome::NotBegun { why, checkpoint })
}

/// A machine with room for this many handlers.
#[derive(Clone)]
struct Machine {
    room: usize,
    running: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Machine {
    fn with(room: usize) -> Self {
        Self { room, running: Arc::default(), refused: Arc::default(), most: Arc::default() }
    }
}

impl Work for Machine {
    async fn attempt(&self, _: WorkItem<'_>) -> AttemptReport {
        if self.running.fetch_add(1, Ordering::Relaxed) >= self.room {
            self.running.fetch_sub(1, Ordering::Relaxed);
            self.refused.fetch_add(1, Ordering::Relaxed);
            return not_begun(None);
        }
        self.most.fetch_max(self.running.load(Ordering::Relaxed), Ordering::Relaxed);
        let timer = AttemptTimer::start();
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.running.fetch_sub(1, Ordering::Relaxed);
        AttemptReport::succeeded(timer, None)
    }
}

#[tokio::test(start_paused = true)]
async fn items_that_cannot_begin_are_put_back_and_fewer_run_at_the_same_time() {
    let machine = Machine::with(16);
    let store = SqliteStore::in_memory();
    let warned: Arc<Mutex<Vec<String>>> = Arc::default();
    let hears = Arc::clone(&warned);
    // A breaker and a threshold that would not survive these failures.
    let policy = ErrorPolicy::new()
        .max_failures(1)
        .circuit_breaker(BreakerConfig::new().failure_threshold(1));
    let runner =
        JobRunner::new("job").store(store.clone()).error_policy(policy).max_parallel(400).on_event(
            move |event| {
                if let JobEvent::NotBegun { why, max_parallel, .. } = event {
                    hears.lock().unwrap().push(format!("{why}, {max_parallel}"));
                }
            },
        );
    let report = runner.run(items(1_000), machine.clone()).await.unwrap();

    assert_eq!((report.succeeded(), report.dead()), (1_000, 0), "{report}");
    assert_eq!(
        report.counts.attempts, 1_000,
        "no attempt is recorded for those that did not begin"
    );
    assert_eq!(machine.most.load(Ordering::Relaxed), 16);
    // The first 400 are refused together, later ones now and then.
    let refused = machine.refused.load(Ordering::Relaxed);
    assert!((384..600).contains(&refused), "{refused}");
    assert!(report.elapsed < Duration::from_secs(140), "{:?}", report.elapsed);
    assert_eq!(warned.lock().unwrap().len(), 1, "{warned:?}");
    let item = store.item("job-1", "999").await.unwrap().unwrap();
    assert_eq!(item.attempt, 1);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_cannot_start_items_stops_after_a_minute() {
    let machine = Machine::with(0);
    let store = SqliteStore::in_memory();
    let runner = JobRunner::new("job").store(store.clone()).max_parallel(50);
    let report = runner.run(items(100), machine.clone()).await.unwrap();

    let Some(reason @ StopReason::NothingBegins { .. }) = report.stopped() else {
        panic!("{report}")
    };
    assert_eq!(reason.to_string(), "nothing could begin for a minute: too many open files");
    assert_eq!((report.counts.pending, report.dead(), report.counts.attempts), (100, 0, 0));
    let (low, high) = (Duration::from_secs(60), Duration::from_secs(63));
    assert!(report.elapsed >= low && report.elapsed < high, "{:?}", report.elapsed);
    let refused = machine.refused.load(Ordering::Relaxed);
    assert!(refused < 50 + 70, "{refused}: one look a second");

    let report =
        JobRunner::new("job").store(store).resume("job-1", Machine::with(50)).await.unwrap();
    assert_eq!(report.succeeded(), 100);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_cannot_continue_keeps_its_checkpoint() {
    struct Steps(AtomicUsize);

    impl Work for Steps {
        async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
            let timer = AttemptTimer::start();
            match (self.0.fetch_add(1, Ordering::Relaxed), item.checkpoint.as_deref()) {
                // The first step has failed and does not matter; the second cannot begin.
                (0, None) => {
                    let failure = Failure::new("other", "no first step");
                    not_begun(Some("\"second\"")).record(timer.failed(failure))
                }
                (1, Some("\"second\"")) => not_begun(None),
                (2, Some("\"second\"")) => AttemptReport::succeeded(timer, None),
                other => panic!("{other:?}"),
            }
        }
    }

    let store = SqliteStore::in_memory();
    let runner = JobRunner::new("job").store(store.clone());
    let report = runner.run(items(1), Steps(AtomicUsize::new(0))).await.unwrap();
    assert!(report.is_success(), "{report}");
    let item = store.item("job-1", "0").await.unwrap().unwrap();
    let attempts: Vec<_> = item.history.iter().map(|row| row.attempt).collect();
    assert_eq!(attempts, [1, 2]);
}
