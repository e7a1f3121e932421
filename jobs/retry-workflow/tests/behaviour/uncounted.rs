//! Failures that use up no attempt: the item is postponed.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::store::AttemptOutcome;
use retry_workflow::work::{NextStep, RetryState};
use retry_workflow::{
    BreakerConfig, Class, Classify, ErrorPolicy, Failure, Job, JobReport, Policy, Retrier,
    RetryConfig, SqliteStore, Store, Workflow, keyed, policy,
};
use tokio::time::{Instant, sleep};

use crate::postponed::scenario;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn an_uncounted_failure_postpones_its_item() {
    scenario::uncounted(Arc::new(SqliteStore::in_memory())).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn an_uncounted_failure_postpones_its_item_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("jobs.db")).unwrap();
    scenario::uncounted(Arc::new(store)).await;
}

/// The failure of a call, with the wait that its server asks for.
#[derive(Clone, Copy, Debug)]
struct Failed(Class, Option<Duration>);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("refused")
    }
}

impl std::error::Error for Failed {}

impl Classify for Failed {
    fn class(&self) -> Class {
        self.0
    }

    fn retry_after(&self) -> Option<Duration> {
        self.1
    }
}

/// The failure of a call that was limited, with the wait of its server.
const fn limited(seconds: u64) -> Failed {
    Failed(Class::RATE_LIMIT, Some(Duration::from_secs(seconds)))
}

const FAULT: Failed = Failed(Class::NETWORK, None);
/// A call that has not failed.
const DONE: Failed = Failed(Class::empty(), None);

/// Runs one item whose calls end so, the last one again and again; returns the report, and when its
/// calls began, in seconds.
async fn calls(workflow: Workflow, calls: &[Failed]) -> (JobReport, Vec<u64>) {
    let (began, seen) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let (calls, times) = (calls.to_vec(), Arc::clone(&seen));
    let report = workflow
        .uncounted(Class::RATE_LIMIT)
        .classified()
        .run(keyed([1_u32], ToString::to_string), move |_: u32, _| {
            let mut seen = times.lock().unwrap();
            let call = calls[seen.len().min(calls.len() - 1)];
            seen.push(began.elapsed().as_secs());
            async move { if call.0.is_empty() { Ok(()) } else { Err(call) } }
        })
        .await
        .unwrap();
    let seen = seen.lock().unwrap().clone();
    (report, seen)
}

#[tokio::test(start_paused = true)]
async fn five_rate_limits_use_up_none_of_three_attempts() {
    let store = SqliteStore::in_memory();
    let workflow = || Workflow::new("import").store(store.clone());
    let five = [limited(60); 5];
    let (report, seen) = calls(workflow(), &[&five[..], &[DONE]].concat()).await;
    assert_eq!((report.succeeded(), seen), (1, vec![0, 60, 120, 180, 240, 300]));
    let item = store.item("import-1", "1").await.unwrap().unwrap();
    let [postponed, succeeded] = &item.history[..] else { panic!("{item:?}") };
    let failure = postponed.failure.as_ref().unwrap();
    assert_eq!((postponed.outcome, postponed.wait), (AttemptOutcome::Postponed, 300 * SECOND));
    assert_eq!((failure.times, &*failure.class, succeeded.attempt), (5, "rate_limit", 1));
    // Two faults leave the third attempt, however many limits are between them.
    let mixed = [&[FAULT], &five[..], &[FAULT], &five[..], &[DONE]].concat();
    let (report, seen) = calls(workflow(), &mixed).await;
    assert_eq!((report.succeeded(), report.counts.attempts, seen.len()), (1, 3, 13));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_always_limits_ends_the_item_after_max_postponed() {
    let workflow = Workflow::new("import").max_postponed(150 * SECOND);
    let (report, seen) = calls(workflow, &[limited(60)]).await;
    assert_eq!(seen, [0, 60, 120, 180, 240]);
    assert_eq!((report.classes["rate_limit"], report.counts.attempts), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn without_a_wait_of_the_server_the_curve_applies_from_a_second_on() {
    let fast = policy!(attempts = 2, initial_delay = "1ms");
    let failed = Failed(Class::RATE_LIMIT, None);
    let workflow = Workflow::new("import").retry(fast).max_postponed(3_500 * SECOND / 1_000);
    let (report, seen) = calls(workflow, &[failed]).await;
    assert_eq!((report.dead(), seen), (1, vec![0, 1, 2, 3, 3]));
    let slow = policy!(attempts = 2, initial_delay = "2s");
    let (_, seen) =
        calls(Workflow::new("import").retry(slow), &[failed, failed, FAULT, DONE]).await;
    assert_eq!(seen, [0, 2, 6, 14]);
}

#[tokio::test(start_paused = true)]
async fn neither_the_budget_nor_max_elapsed_counts_it() {
    let policy = || policy!(attempts = 3, backoff = fixed, initial_delay = "2s", budget = "5s");
    for policy in [policy(), policy().max_elapsed(10 * SECOND)] {
        let long = limited(100);
        let made = [long, long, FAULT, long, FAULT, long, DONE];
        let (report, seen) = calls(Workflow::new("import").retry(policy), &made).await;
        assert_eq!(seen, [0, 100, 200, 202, 302, 304, 404]);
        assert_eq!((report.succeeded(), report.counts.attempts), (1, 3));
    }
    // They still count everything else.
    let made = [limited(60), FAULT, limited(60), FAULT, FAULT];
    let twice = policy().budget(3 * SECOND).attempts(9);
    let (report, seen) = calls(Workflow::new("import").retry(twice), &made).await;
    assert_eq!((report.dead(), seen), (1, vec![0, 60, 62, 122]));
}

/// Nothing has failed that counts, so no time has run out.
#[tokio::test(start_paused = true)]
async fn another_worker_continues_an_item_whose_failures_all_were_uncounted() {
    let store = SqliteStore::in_memory();
    let policy = policy!(attempts = 2, initial_delay = "2s", budget = "5s");
    let workflow = || Workflow::new("import").store(store.clone()).job_id("import-1").retry(policy);
    let (report, _) = calls(workflow().stop_on(sleep(30 * SECOND)), &[limited(60)]).await;
    assert_eq!(report.counts.pending, 1);
    sleep(HOUR).await;
    let (report, seen) = calls(workflow(), &[FAULT, DONE]).await;
    // The second wait of the curve.
    assert_eq!((report.succeeded(), seen), (1, vec![0, 4]));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_retried_is_not_postponed() {
    let never: Policy = policy!(attempts = 3, max_retry_after = "30s");
    let (report, seen) = calls(Workflow::new("import").retry(never), &[limited(60)]).await;
    assert_eq!((report.classes["rate_limit"], seen), (1, vec![0]));
    let aborted = Workflow::new("import").abort_on([retry_workflow::matchers::rate_limit]);
    assert_eq!(calls(aborted, &[limited(60)]).await.1, [0]);
}

#[tokio::test(start_paused = true)]
async fn a_configuration_of_a_file_sets_it() {
    let file = r#"{
        "attempts": 1, "retry_budget": "5s", "timeout": "1s", "uncounted": ["timeout"]
    }"#;
    let config: RetryConfig = serde_json::from_str(file).unwrap();
    let report = Workflow::new("import")
        .retry(config)
        .max_postponed(8 * SECOND)
        .run([1_u32], |_: u32, _| async {
            sleep(HOUR).await;
            Ok::<_, String>(())
        })
        .await
        .unwrap();
    // Three waits, of 1 s, 2 s and 4 s, and four timeouts.
    assert_eq!((report.classes["timeout"], report.elapsed.as_secs()), (1, 11));
}

#[tokio::test(start_paused = true)]
async fn the_breaker_counts_it_and_holds_for_its_wait() {
    let breaker = BreakerConfig::new().failure_threshold(2).timeout(600 * SECOND);
    let workflow = |breaker: BreakerConfig| {
        let policy = ErrorPolicy::new().circuit_breaker(breaker.success_threshold(1));
        Workflow::new("import").error_policy(policy)
    };
    let (_, seen) = calls(workflow(breaker), &[limited(1), limited(1), DONE]).await;
    assert_eq!(seen, [0, 1, 601]);
    // A limit for which it holds all items is no failure of the other side.
    let holds = breaker.hold(HOUR);
    let (_, seen) = calls(workflow(holds), &[limited(60), limited(60), DONE]).await;
    assert!(seen[1] < 70 && seen[2] < 140, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_made_due_has_the_rest_of_its_time() {
    let store = SqliteStore::in_memory();
    let workflow = || {
        let workflow = Workflow::new("import").store(store.clone()).job_id("import-1");
        workflow.retry(policy!(attempts = 1)).max_postponed(100 * SECOND)
    };
    for _ in 0..3 {
        calls(workflow().stop_on(sleep(10 * SECOND)), &[limited(60)]).await;
        assert_eq!(Job::make_due(&store, "import-1").await, Ok(1));
    }
    let (report, seen) = calls(workflow(), &[limited(60)]).await;
    assert_eq!((report.dead(), seen), (1, vec![0, 60]));
}

#[test]
fn a_failure_that_cannot_be_postponed_is_retried_even_if_its_retrier_does_not_count_it() {
    let policy = Policy::new().attempts(1).max_elapsed(HOUR);
    let retrier = Retrier::new(policy).uncounted(Class::RATE_LIMIT).classified();
    let next = |postponable| {
        let failure = Failure::new("rate_limit", "refused");
        RetryState::decide(None, &retrier, "worker", Ok(&limited(5)), &failure, postponable)
    };
    assert!(matches!(next(Some(HOUR)), NextStep::Postpone { .. }));
    for postponable in [None, Some(Duration::from_millis(999))] {
        let next = next(postponable);
        assert!(matches!(next, NextStep::Retry { .. }), "{postponable:?}: {next:?}");
    }
}
