//! The processing of items: attempts, waits, histories, checkpoints.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use retry_workflow::matchers::{network, rate_limit, timeout};
use retry_workflow::store::{Alteration, AttemptOutcome, Selection};
use retry_workflow::{Classify, JobStatus, Policy, SqliteStore, Store, Workflow, keyed, policy};
use tokio::time::Instant;

use super::support::{Calls, odd, refused};

#[tokio::test(start_paused = true)]
async fn every_item_ends_in_one_state() {
    let report = Workflow::new("numbers")
        .retry(policy!(attempts = 2))
        .run(0..100_u32, |n: u32, _| async move { odd(n) })
        .await
        .unwrap();
    assert_eq!((report.succeeded(), report.dead(), report.total()), (50, 50, 100));
    assert_eq!(report.job.status, JobStatus::Finished);
    assert_eq!(report.counts.attempts, 150);
    assert!(!report.is_success());
}

#[tokio::test(start_paused = true)]
async fn waits_are_the_policys_and_leave_the_place_to_others() {
    let (calls, start) = (Calls::default(), Instant::now());
    let report = Workflow::new("one place")
        .retry(policy!(attempts = 3))
        .max_parallel(1)
        .run(0..20_u32, {
            let calls = calls.clone();
            move |n: u32, _| {
                let call = calls.count(n);
                async move { if call < 3 { Err(refused()) } else { Ok(()) } }
            }
        })
        .await
        .unwrap();
    assert!(report.is_success(), "{report}");
    // The waits of 1 s and 2 s run in parallel for all items.
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    assert_eq!(report.counts.waited, Duration::from_secs(20 * 3));
}

#[tokio::test(start_paused = true)]
async fn only_failures_in_retry_on_are_retried() {
    let calls = Calls::default();
    let report = Workflow::new("matchers")
        .retry(policy!(attempts = 3))
        .retry_on([network, timeout])
        .run([1, 2], {
            let calls = calls.clone();
            move |n: u32, _| {
                calls.count(n);
                let kind =
                    if n == 1 { io::ErrorKind::NotFound } else { io::ErrorKind::ConnectionReset };
                async move { Err::<(), _>(io::Error::from(kind)) }
            }
        })
        .await
        .unwrap();
    assert_eq!(*calls.0.lock().unwrap(), BTreeMap::from([(1, 1), (2, 3)]));
    assert_eq!(report.classes, BTreeMap::from([("network".into(), 1), ("other".into(), 1)]));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_cut_off_by_the_policys_timeout() {
    let start = Instant::now();
    let report = Workflow::new("slow")
        .retry(policy!(attempts = 2, timeout = "2s"))
        .retry_on([timeout])
        .run([1], |_: u32, _| async {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Ok::<_, io::Error>(())
        })
        .await
        .unwrap();
    assert_eq!(report.classes, BTreeMap::from([("timeout".into(), 1)]));
    assert_eq!(report.counts.attempts, 2);
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_dead_letter_and_not_the_end() {
    let store = SqliteStore::in_memory();
    let report = Workflow::new("panics")
        .store(store.clone())
        .run(keyed([1, 2, 3], u32::to_string), |n: u32, _| async move {
            assert_ne!(n, 2, "two is bad");
            Ok::<_, String>(())
        })
        .await
        .unwrap();
    assert_eq!((report.succeeded(), report.dead()), (2, 1));
    let item = store.item("panics-1", "2").await.unwrap().unwrap();
    assert!(item.failure.unwrap().message.contains("two is bad"));
    assert_eq!(report.patterns, []);
}

#[tokio::test(start_paused = true)]
async fn a_payload_that_cannot_be_read_is_a_dead_letter_at_once() {
    let store = SqliteStore::in_memory();
    let workflow = || Workflow::new("types").store(store.clone());
    workflow()
        .stop_on(async {})
        .run(["text".to_owned()], |_: String, _| async { Ok::<_, String>(()) })
        .await
        .unwrap();
    let report = workflow()
        .run(["text".to_owned()], |_: String, _| async { Ok::<_, String>(()) })
        .await
        .unwrap();
    assert!(report.is_success());
    let report = Workflow::new("types")
        .store(store.clone())
        .job_id("again")
        .run(["seven".to_owned()], |_: String, _| async { Err::<(), _>("no") })
        .await
        .unwrap();
    assert_eq!(report.dead(), 1);
    store
        .alter(
            &retry_workflow::Filter::job("again"),
            Alteration::redrive(Duration::ZERO),
            usize::MAX,
            retry_workflow::Timestamp::now(),
        )
        .await
        .unwrap();
    let report =
        workflow().resume("again", |_: u32, _| async { Ok::<_, String>(()) }).await.unwrap();
    assert_eq!(report.classes, BTreeMap::from([("payload".into(), 1)]), "{report}");
    assert_eq!(report.counts.attempts, 4);
}

#[tokio::test(start_paused = true)]
async fn the_history_has_a_row_for_each_attempt() {
    let store = SqliteStore::in_memory();
    let report = Workflow::new("history")
        .store(store.clone())
        .retry(policy!(attempts = 3))
        .run(keyed(["x".to_owned()], |_| "1".to_owned()), |_: String, cx| async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            if cx.attempt() < 3 { Err(format!("order {} is locked", cx.attempt())) } else { Ok(()) }
        })
        .await
        .unwrap();
    assert!(report.is_success());
    assert_eq!(report.counts.worked, Duration::from_secs(15));
    let item = store.item("history-1", "1").await.unwrap().unwrap();
    assert_eq!(item.correlation, "history-1/1");
    let rows: Vec<_> = item
        .history
        .iter()
        .map(|row| (row.attempt, row.outcome, row.duration.as_secs(), row.wait.as_secs()))
        .collect();
    let failed = AttemptOutcome::Failed;
    assert_eq!(rows, [(1, failed, 5, 1), (2, failed, 5, 2), (3, AttemptOutcome::Succeeded, 5, 0)]);
    let failure = item.history[0].failure.as_ref().unwrap();
    assert_eq!(failure.signature.as_str(), "order <n> is locked");
    assert!(item.history[1].started.since(item.history[0].started) >= Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_is_encoded_as_json_once() {
    let store = SqliteStore::in_memory();
    let hour = Duration::from_secs(3600);
    let run = Workflow::new("once")
        .store(store.clone())
        .retry(Policy::new().attempts(2).initial_delay(hour).max_delay(hour))
        .run([1], |_: u32, _| async { Err::<(), _>("it said \"no\"") });
    tokio::time::timeout(Duration::from_secs(10), run).await.unwrap_err();
    let later = retry_workflow::Timestamp::now() + 2 * hour;
    let leases = store
        .claim("once-1", "other", later, Selection::Items { max: 1, starts: 1 }, hour)
        .await
        .unwrap();
    let left: serde_json::Value =
        serde_json::from_str(leases[0].checkpoint.as_deref().unwrap()).unwrap();
    assert_eq!(left["work"]["failure"]["message"], "it said \"no\"");
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_that_is_not_json_fails_its_item() {
    use retry_workflow::store::NewItem;
    use retry_workflow::work::{AttemptReport, WorkItem, WorkOutcome};
    use retry_workflow::{JobRunner, Work};

    struct Careless;
    impl Work for Careless {
        async fn attempt(&self, _: WorkItem<'_>) -> AttemptReport {
            let checkpoint = "half done".to_owned();
            AttemptReport::new(WorkOutcome::Retry { wait: Duration::ZERO, checkpoint })
        }
    }
    let store = SqliteStore::in_memory();
    let items = vec![NewItem::new("a", "1")];
    let runner = JobRunner::new("careless").store(store.clone());
    assert_eq!(runner.run(items.into_iter(), Careless).await.unwrap().dead(), 1);
    let item = store.item("careless-1", "a").await.unwrap().unwrap();
    let message = item.failure.unwrap().message;
    assert!(message.starts_with("the checkpoint of the attempt is not JSON: "), "{message}");
}

#[derive(Debug, Classify)]
#[classify(crate = retry_workflow::retry_runtime)]
enum ApiError {
    #[classify(rate_limit, retry_after = wait)]
    Busy { wait: Duration },
    #[classify(never)]
    Unknown,
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the API is busy, or does not know")
    }
}

impl std::error::Error for ApiError {}

#[tokio::test(start_paused = true)]
async fn the_own_class_of_an_error_counts_at_any_depth() {
    let (calls, start) = (Calls::default(), Instant::now());
    let report = Workflow::new("said")
        .retry(policy!(attempts = 3, initial_delay = "10ms"))
        .retry_on([rate_limit])
        .run(1..=2_u32, move |n: u32, _| {
            let call = calls.count(n);
            async move {
                let error = match (n, call) {
                    (1, 1) => ApiError::Busy { wait: Duration::from_millis(700) },
                    (1, _) => return Ok(()),
                    _ => ApiError::Unknown,
                };
                Err(io::Error::other(error))
            }
        })
        .await
        .unwrap();
    assert_eq!((report.succeeded(), report.dead(), report.counts.attempts), (1, 1, 3));
    assert!(start.elapsed() >= Duration::from_millis(700), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_item_waits_for_a_servers_retry_after_unless_bounded() {
    // A call in one process would not wait that long.
    const TWO_HOURS: Duration = Duration::from_secs(2 * 60 * 60);
    let attempts = async |policy: Policy| {
        let start = Instant::now();
        let report = Workflow::new("asked")
            .retry(policy)
            .run([1_u32], |_: u32, _| async { Err::<(), _>(ApiError::Busy { wait: TWO_HOURS }) })
            .await
            .unwrap();
        assert_eq!(report.dead(), 1);
        (report.counts.attempts, start.elapsed() >= TWO_HOURS)
    };
    let two = Policy::new().attempts(2);
    assert_eq!(attempts(two).await, (2, true));
    assert_eq!(attempts(two.max_retry_after(TWO_HOURS)).await, (2, true));
    assert_eq!(attempts(two.max_retry_after(TWO_HOURS / 2)).await, (1, false));
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_of_zero_does_not_shorten_the_backoff() {
    let calls = Calls::default();
    let report = Workflow::new("hasty")
        .retry(policy!(attempts = 3))
        .run([1], {
            let calls = calls.clone();
            move |n: u32, _| {
                let call = calls.count(n);
                async move {
                    let busy = ApiError::Busy { wait: Duration::ZERO };
                    if call < 3 { Err(io::Error::other(busy)) } else { Ok(()) }
                }
            }
        })
        .await
        .unwrap();
    assert!(report.is_success(), "{report}");
    assert_eq!(report.counts.waited, Duration::from_secs(1 + 2));
}

/// An error that knows its class, and has a cause.
#[derive(Debug)]
struct Refusal(io::Error);

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the shop said no")
    }
}

impl std::error::Error for Refusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl retry_workflow::Classify for Refusal {
    fn class(&self) -> retry_workflow::Class {
        retry_workflow::Class::RATE_LIMIT
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_has_the_class_that_its_error_gave_itself() {
    let store = SqliteStore::in_memory();
    let job = |name: &str| Workflow::new(name).store(store.clone()).retry(policy!(attempts = 1));
    let refusal = || Err::<(), _>(Refusal(io::Error::other("sold out")));
    job("own").classified().run([1_u32], move |_: u32, _| async move { refusal() }).await.unwrap();
    job("text").opaque().run([1_u32], |_: u32, _| async { Err::<(), u16>(503) }).await.unwrap();
    job("when")
        .classified()
        .retry_when(|error: &Refusal| error.0.kind() == io::ErrorKind::Other)
        .run([1_u32], move |_: u32, _| async move { refusal() })
        .await
        .unwrap();
    let failures = async |job: &str| {
        let groups = store.stats(&retry_workflow::Filter::job(job), None).await.unwrap();
        groups.into_iter().map(|group| (group.class, group.message)).collect::<Vec<_>>()
    };
    let own = vec![("rate_limit".to_owned(), "the shop said no".to_owned())];
    assert_eq!(failures("own-1").await, own);
    assert_eq!(failures("when-1").await, own);
    assert_eq!(failures("text-1").await, [("other".to_owned(), "503".to_owned())]);
}
