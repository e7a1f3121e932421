//! Items that are not ready, and come back later without using up an attempt.

pub(crate) mod scenario;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::{
    BreakerConfig, ErrorPolicy, Graph, ItemContext, Job, JobEvent, JobReport, OnItemFailure,
    Policy, SqliteStore, Store, Task, Workflow, keyed, policy, work,
};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);
/// Longer than all waits beside it. A job looks about once for each second of it.
const LONG: Duration = Duration::from_secs(100);
const DAY: Duration = Duration::from_secs(24 * 3_600);

#[tokio::test(start_paused = true)]
async fn a_postponed_item_uses_up_no_attempt() {
    scenario::run(Arc::new(SqliteStore::in_memory())).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_postponed_item_uses_up_no_attempt_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = retry_workflow::SqliteStore::open(folder.path().join("jobs.db")).unwrap();
    scenario::run(Arc::new(store)).await;
}

/// The outcome of one call of a handler.
#[derive(Clone, Copy)]
enum Call {
    Postpones(Duration),
    Fails,
    Succeeds,
}
use Call::{Fails, Postpones, Succeeds};

/// Runs one item with this policy; returns the report, and when its calls began, in seconds. The
/// last call is repeated.
async fn calls(workflow: Workflow, calls: &[Call]) -> (JobReport, Vec<u64>) {
    let began = Instant::now();
    let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
    let report = {
        let seen = Arc::clone(&seen);
        let calls = calls.to_vec();
        let handler = move |_: u32, cx: ItemContext| {
            let mut seen = seen.lock().unwrap();
            let call = calls[seen.len().min(calls.len() - 1)];
            seen.push(began.elapsed().as_secs());
            async move {
                match call {
                    Postpones(wait) => cx.postpone(wait),
                    Fails => {}
                    Succeeds => return Ok(()),
                }
                Err("no")
            }
        };
        workflow.run([1_u32], handler).await.unwrap()
    };
    let seen = seen.lock().unwrap().clone();
    (report, seen)
}

#[tokio::test(start_paused = true)]
async fn neither_the_budget_nor_max_elapsed_counts_a_postponement() {
    let policy = || policy!(attempts = 3, backoff = fixed, initial_delay = "2s", budget = "5s");
    for policy in [policy(), policy().max_elapsed(10 * SECOND)] {
        let workflow = Workflow::new("import").retry(policy);
        let made =
            calls(workflow, &[Fails, Postpones(LONG), Fails, Postpones(LONG), Succeeds]).await;
        assert_eq!(made.1, [0, 2, 102, 104, 204]);
        assert_eq!((made.0.succeeded(), made.0.counts.attempts), (1, 3));
    }
    // They still count everything else.
    let workflow = Workflow::new("import").retry(policy());
    let made = calls(workflow, &[Fails, Postpones(LONG), Fails, Postpones(LONG), Fails]).await;
    assert_eq!((made.0.dead(), made.1.len()), (1, 5));
}

#[tokio::test(start_paused = true)]
async fn a_short_postponement_is_a_second_and_none_is_an_ordinary_failure() {
    let workflow = || Workflow::new("import").retry(policy!(attempts = 1));
    let (report, seen) = calls(workflow(), &[Postpones(Duration::from_nanos(1)), Succeeds]).await;
    assert_eq!((report.succeeded(), seen), (1, vec![0, 1]));
    let (report, seen) = calls(workflow(), &[Postpones(Duration::ZERO), Succeeds]).await;
    assert_eq!((report.dead(), seen), (1, vec![0]));
    // A handler that succeeds after all is done.
    let done = |_: u32, cx: ItemContext| async move {
        cx.postpone(LONG);
        Ok::<_, String>(())
    };
    assert!(workflow().run([1_u32], done).await.unwrap().elapsed < SECOND);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_postponed_for_too_long_fails_as_usual() {
    let workflow = || Workflow::new("import").max_postponed(10 * SECOND);
    let twice = policy!(attempts = 2, backoff = fixed, initial_delay = "1s");
    let (report, seen) = calls(workflow().retry(twice), &[Postpones(4 * SECOND)]).await;
    // Twice within the limit; then two attempts.
    assert_eq!((report.dead(), seen), (1, vec![0, 4, 8, 9]));
    assert_eq!((report.classes["postponed"], report.counts.attempts), (1, 2));
    let (report, seen) =
        calls(workflow().retry(twice), &[Postpones(Duration::MAX), Succeeds]).await;
    assert_eq!((report.succeeded(), seen), (1, vec![0, 1]));
    // By default for a day.
    for (wait, ends) in [(DAY, 0), (DAY + SECOND, 1)] {
        let workflow = Workflow::new("import").retry(policy!(attempts = 1));
        let (report, seen) = calls(workflow.stop_on(sleep(10 * SECOND)), &[Postpones(wait)]).await;
        assert_eq!((report.dead(), report.counts.pending, seen.len()), (ends, 1 - ends, 1));
    }
}

/// The total is that of the run, through retries and rounds of the item.
#[tokio::test(start_paused = true)]
async fn the_time_for_which_an_item_is_postponed_adds_up() {
    let rounds = ErrorPolicy::new().on_item_failure(OnItemFailure::Retry).retry_config(policy!(
        attempts = 2,
        backoff = fixed,
        initial_delay = "1s",
        max_elapsed = "60s"
    ));
    let workflow = Workflow::new("import")
        .retry(policy!(attempts = 2, backoff = fixed, initial_delay = "1s"))
        .error_policy(rounds)
        .max_postponed(LONG + LONG);
    let made = [Postpones(LONG), Fails, Fails, Postpones(LONG), Postpones(LONG), Succeeds];
    let (report, seen) = calls(workflow, &made).await;
    assert_eq!(seen, [0, 100, 101, 102, 202, 203]);
    assert_eq!((report.succeeded(), report.counts.attempts), (1, 4));
}

/// Runs the item of `import-1`, which is never ready and asks for a long wait each time; returns the
/// report.
async fn never_ready(workflow: Workflow, store: &SqliteStore, calls: &Arc<AtomicU32>) -> JobReport {
    let calls = Arc::clone(calls);
    workflow
        .job_id("import-1")
        .store(store.clone())
        .retry(policy!(attempts = 1))
        .run(keyed([1_u32], ToString::to_string), move |_: u32, cx| {
            calls.fetch_add(1, Ordering::Relaxed);
            async move {
                cx.postpone(LONG);
                Err::<(), _>("not ready")
            }
        })
        .await
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_changed_limit_does_not_end_a_postponement() {
    let (store, calls) = (SqliteStore::in_memory(), Arc::default());
    for most in [1, 2, 3] {
        let workflow = Workflow::new("import")
            .concurrency_per(|_: &serde_json::Value| Some("host".to_owned()), most)
            .stop_on(sleep(10 * SECOND));
        let report = never_ready(workflow, &store, &calls).await;
        assert_eq!((report.counts.pending, calls.load(Ordering::Relaxed)), (1, 1), "{most}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_time_that_was_waited_counts_as_postponed() {
    let (store, calls) = (SqliteStore::in_memory(), Arc::default());
    let workflow = || Workflow::new("import").max_postponed(250 * SECOND);
    for number in 1..=5 {
        let stopped = workflow().stop_on(sleep(10 * SECOND));
        let report = never_ready(stopped, &store, &calls).await;
        assert_eq!((report.counts.pending, calls.load(Ordering::Relaxed)), (1, number));
        if number < 5 {
            assert_eq!(Job::make_due(&store, "import-1").await, Ok(1));
        }
    }
    // Four times 10 s were waited, and the last wait has not been cut off.
    let item = store.item("import-1", "1").await.unwrap().unwrap();
    let waited = work::postponed(&item).unwrap().wait;
    assert!(waited >= LONG + 40 * SECOND && waited < LONG + 45 * SECOND, "{waited:?}");
    // After it, there is time for one more.
    let report = never_ready(workflow(), &store, &calls).await;
    assert_eq!((report.classes["postponed"], calls.load(Ordering::Relaxed)), (1, 7));
}

/// The item fails, is postponed, is made due after 10 s, and fails until its time is over.
#[tokio::test(start_paused = true)]
async fn the_rest_of_a_wait_that_was_cut_short_counts_again() {
    let work = || {
        let delay = policy!(attempts = 20, backoff = fixed, initial_delay = "20s");
        Workflow::new("import").retry(delay.max_elapsed(65 * SECOND))
    };
    let rounds = || {
        let delay = policy!(attempts = 20, backoff = fixed, initial_delay = "20s");
        let rounds = ErrorPolicy::new().on_item_failure(OnItemFailure::Retry);
        let rounds = rounds.retry_config(delay.max_elapsed(65 * SECOND));
        Workflow::new("import").retry(policy!(attempts = 1)).error_policy(rounds)
    };
    let workflows: [&dyn Fn() -> Workflow; 2] = [&work, &rounds];
    for workflow in workflows {
        let (store, calls) = (SqliteStore::in_memory(), Arc::new(AtomicU32::new(0)));
        let run = async |workflow: Workflow| {
            let calls = Arc::clone(&calls);
            let handler = move |_: u32, cx: ItemContext| {
                let number = calls.fetch_add(1, Ordering::Relaxed);
                async move {
                    if number == 1 {
                        cx.postpone(LONG);
                    }
                    Err::<(), _>("no")
                }
            };
            let items = keyed([1_u32], ToString::to_string);
            workflow.job_id("import-1").store(store.clone()).run(items, handler).await.unwrap()
        };
        run(workflow().stop_on(sleep(30 * SECOND))).await;
        assert_eq!(Job::make_due(&store, "import-1").await, Ok(1));
        let report = run(workflow()).await;
        // At 0 s, and, 10 s of the postponement left out, at 20 s, 20 s, 40 s and 60 s.
        assert_eq!((report.dead(), calls.load(Ordering::Relaxed)), (1, 5));
    }
}

#[tokio::test(start_paused = true)]
async fn each_postponed_attempt_is_an_event_when_it_ends() {
    let (store, calls) = (SqliteStore::in_memory(), Arc::default());
    let events: Arc<Mutex<Vec<String>>> = Arc::default();
    let workflow = || {
        let events = Arc::clone(&events);
        Workflow::new("import").max_postponed(250 * SECOND).on_event(move |event| {
            if let JobEvent::Attempt { attempt, .. } = event {
                let times = attempt.failure.as_ref().map_or(0, |failure| failure.times);
                let seconds = attempt.wait.as_secs();
                let outcome = attempt.outcome.as_str();
                events.lock().unwrap().push(format!("{outcome} {times} {seconds}"));
            }
        })
    };
    never_ready(workflow().stop_on(sleep(10 * SECOND)), &store, &calls).await;
    assert_eq!(*events.lock().unwrap(), ["postponed 1 100"]);
    never_ready(workflow(), &store, &calls).await;
    assert_eq!(*events.lock().unwrap(), ["postponed 1 100", "postponed 1 100", "failed 1 0"]);
    let history = store.item("import-1", "1").await.unwrap().unwrap().history;
    assert_eq!((history.len(), history[0].failure.as_ref().unwrap().times), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn thresholds_and_the_breaker_do_not_count_it() {
    let policy = ErrorPolicy::new()
        .max_failures(1)
        .circuit_breaker(BreakerConfig::new().failure_threshold(1).success_threshold(1));
    let workflow = Workflow::new("import").retry(policy!(attempts = 1)).error_policy(policy);
    let (report, seen) = calls(workflow, &[Postpones(SECOND), Postpones(SECOND), Succeeds]).await;
    assert!(report.is_success(), "{report}");
    assert_eq!(seen, [0, 1, 2]);
}

/// A probe that is postponed says nothing: another one takes its slot.
#[tokio::test(start_paused = true)]
async fn a_postponed_probe_returns_its_slot() {
    let breaker = BreakerConfig::new()
        .failure_threshold(1)
        .success_threshold(1)
        .half_open_requests(1)
        .timeout(10 * SECOND);
    let failed = Arc::new(AtomicU32::new(0));
    let report = Workflow::new("import")
        .max_parallel(1)
        .retry(policy!(attempts = 1))
        .error_policy(ErrorPolicy::new().circuit_breaker(breaker))
        .run(keyed([1_u32, 2, 3], ToString::to_string), move |item: u32, cx| {
            let call = failed.fetch_add(1, Ordering::Relaxed);
            async move {
                match (item, call) {
                    (1, 0) => Err("down"),
                    (2, _) if call < 3 => {
                        cx.postpone(LONG);
                        Err("not ready")
                    }
                    _ => Ok(()),
                }
            }
        })
        .await
        .unwrap();
    assert_eq!((report.succeeded(), report.dead()), (2, 1));
    assert!(report.elapsed >= LONG && report.elapsed < LONG + 20 * SECOND, "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_postponed_attempt_uses_a_start_of_the_rate() {
    let workflow = Workflow::new("import").retry(policy!(attempts = 1)).rate("6/m");
    let (_, seen) = calls(workflow, &[Postpones(SECOND), Postpones(SECOND), Succeeds]).await;
    assert!(seen[1] >= 9 && seen[2] >= 19, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_postponed_item_is_not_late() {
    let workflow = Workflow::new("import").retry(policy!(attempts = 1)).skip_after(10 * SECOND);
    let (report, _) = calls(workflow, &[Postpones(LONG), Succeeds]).await;
    assert_eq!((report.succeeded(), report.skipped()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn tasks_of_a_graph_can_be_postponed() {
    let calls = Arc::new(AtomicU32::new(0));
    let fetch = Task::new("fetch", move |cx: ItemContext| {
        let number = calls.fetch_add(1, Ordering::Relaxed);
        async move {
            sleep(SECOND).await;
            if number < 5 {
                cx.postpone(LONG);
                return Err("not there");
            }
            Ok(())
        }
    });
    let report = Graph::new("publish")
        .task(fetch.max_retries(0))
        .task(Task::new("render", |_| async { Ok::<_, String>(()) }).depends_on(["fetch"]))
        .run()
        .await
        .unwrap();
    assert_eq!((report.succeeded(), report.counts.attempts), (2, 2));
    assert!(report.elapsed >= 5 * LONG);
}

/// An attempt that is cut off is no answer.
#[tokio::test(start_paused = true)]
async fn a_timeout_is_an_ordinary_failure() {
    let report = Workflow::new("import")
        .retry(Policy::new().attempts(1).timeout(SECOND))
        .run([1_u32], |_: u32, cx| async move {
            cx.postpone(LONG);
            sleep(LONG).await;
            Err::<(), _>("no")
        })
        .await
        .unwrap();
    assert_eq!(report.classes["timeout"], 1);
}
