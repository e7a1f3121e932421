//! Items that fail: each action, the bounds, the breaker, the reports.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::job::{BreakerRecord, ErrorCollection, OnOpen, State, Unit, Waits};
use retry_workflow::{
    BreakerConfig, Class, Classify, ErrorPolicy, Job, JobEvent, JobReport, OnItemFailure,
    SqliteStore, StopReason, Store as _, Workflow, keyed, policy,
};
use tokio::time::Instant;

use super::support::{Calls, odd, refused};

#[tokio::test(start_paused = true)]
async fn the_error_policy_decides_what_happens_to_failed_items() {
    let run = |action: OnItemFailure| async move {
        let report = Workflow::new("actions")
            .retry(policy!(attempts = 1))
            .max_parallel(1)
            .error_policy(ErrorPolicy::new().on_item_failure(action))
            .run(keyed(1..=4_u32, u32::to_string), |n: u32, _| async move { odd(n) })
            .await
            .unwrap();
        let counts = report.counts;
        (
            counts.succeeded,
            counts.dead,
            counts.skipped,
            counts.unfinished(),
            report.stopped().cloned(),
        )
    };
    assert_eq!(run(OnItemFailure::Dlq).await, (2, 2, 0, 0, None));
    assert_eq!(run(OnItemFailure::Skip).await, (2, 0, 2, 0, None));
    let stop = StopReason::Item { item: "1".into(), message: "1 is odd".into() };
    let stopped = run(OnItemFailure::Stop).await;
    assert_eq!((stopped.1, stopped.4), (1, Some(stop)));
    assert!(stopped.3 >= 2);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_put_back_begins_again_by_the_workflows_backoff() {
    let (calls, start) = (Calls::default(), Instant::now());
    let report = Workflow::new("rounds")
        .retry(policy!(attempts = 2, backoff = fixed))
        .error_policy(
            ErrorPolicy::new().on_item_failure(OnItemFailure::Retry).retry_config(policy!(
                attempts = 3,
                initial_delay = "10s",
                backoff = fixed
            )),
        )
        .run([1, 2], {
            let calls = calls.clone();
            move |n: u32, _| {
                let call = calls.count(n);
                async move { if n == 1 || call < 4 { Err(refused()) } else { Ok(()) } }
            }
        })
        .await
        .unwrap();
    // Three rounds of two attempts; the second item succeeds in its second round.
    assert_eq!(*calls.0.lock().unwrap(), BTreeMap::from([(1, 6), (2, 4)]));
    assert_eq!((report.succeeded(), report.dead()), (1, 1));
    assert_eq!(start.elapsed().as_secs(), 3 + 2 * 10);
}

#[tokio::test(start_paused = true)]
async fn a_handler_decides_and_an_unknown_one_is_refused() {
    let custom = || OnItemFailure::Custom("sort".into());
    let policy = || ErrorPolicy::new().on_item_failure(custom());
    let report = Workflow::new("handlers")
        .retry(policy!(attempts = 1))
        .error_policy(policy())
        .handler("sort", |failed| async move {
            assert_eq!(failed.attempt, 1);
            if failed.payload == "1" { OnItemFailure::Skip } else { OnItemFailure::Dlq }
        })
        .run(1..=3_u32, |n: u32, _| async move { odd(n) })
        .await
        .unwrap();
    assert_eq!((report.skipped(), report.dead()), (1, 1));

    let error = Workflow::new("handlers")
        .error_policy(policy())
        .handler("sorted", |_| async { OnItemFailure::Dlq })
        .run(1..=3_u32, |n: u32, _| async move { odd(n) })
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`on_item_failure` names the handler `sort`, but the only handlers are `sorted`"
    );
}

async fn stopped(policy: ErrorPolicy) -> JobReport {
    Workflow::new("bounds")
        .retry(policy!(attempts = 1))
        .max_parallel(1)
        .error_policy(policy)
        .run(1..=1_000_u32, |n: u32, _| async move { odd(n) })
        .await
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_job_stops_at_its_bounds() {
    let report = stopped(ErrorPolicy::new().max_failures(7)).await;
    assert_eq!(report.stopped(), Some(&StopReason::MaxFailures { max_failures: 7 }));
    assert!((7..50).contains(&report.dead()), "{report}");

    let report = stopped(ErrorPolicy::new().failure_threshold(0.25)).await;
    assert!(matches!(report.stopped(), Some(StopReason::FailureThreshold { ended: 10.., .. })));

    let report = stopped(ErrorPolicy::new().continue_on_failure(false)).await;
    assert_eq!(report.stopped(), Some(&StopReason::FirstFailure));
    assert_eq!(report.counts.leased, 0);

    assert_eq!(stopped(ErrorPolicy::new().failure_threshold(0.75)).await.stopped(), None);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_job_resumes_with_new_counts() {
    let store = SqliteStore::in_memory();
    let run = |most: u64| {
        Workflow::new("bounds")
            .store(store.clone())
            .retry(policy!(attempts = 1))
            .error_policy(ErrorPolicy::new().max_failures(most))
            .run(1..=20_u32, |n: u32, _| async move { odd(n) })
    };
    let first = run(3).await.unwrap();
    assert!(first.stopped().is_some());
    let second = run(100).await.unwrap();
    assert_eq!(second.job.id, first.job.id);
    assert_eq!((second.succeeded(), second.dead(), second.stopped()), (10, 10, None));
    assert_eq!(second.counts.attempts, 20);
    // The job has finished: the next run is a new job.
    assert_eq!(run(100).await.unwrap().job.id, "bounds-2");
}

#[tokio::test(start_paused = true)]
async fn while_the_breaker_is_open_nothing_is_started_and_nothing_fails() {
    let (calls, start) = (Calls::default(), Instant::now());
    let transitions = Arc::new(AtomicU32::new(0));
    let report = Workflow::new("outage")
        .retry(policy!(attempts = unlimited, budget = "1h", backoff = fixed))
        .max_parallel(10)
        .error_policy(ErrorPolicy::new().circuit_breaker(
            BreakerConfig::new().failure_threshold(5).timeout(Duration::from_secs(30)),
        ))
        .on_event({
            let transitions = transitions.clone();
            move |event| {
                if let JobEvent::Breaker(_) = event {
                    transitions.fetch_add(1, Ordering::Relaxed);
                }
            }
        })
        .run(0..200_u32, {
            let calls = calls.clone();
            move |n: u32, _| {
                calls.count(n);
                let up = start.elapsed() >= Duration::from_secs(300);
                async move { if up { Ok(()) } else { Err(refused()) } }
            }
        })
        .await
        .unwrap();
    assert!(report.is_success(), "{report}");
    // Ten at once, then one probe every 30 s: an outage of five minutes does not cause a flood of
    // calls.
    assert!(calls.sum() < 200 + 10 + 3 * 10 + 5, "{}", calls.sum());
    assert!(start.elapsed() < Duration::from_secs(340), "{:?}", start.elapsed());
    assert!(transitions.load(Ordering::Relaxed) >= 3);
}

#[tokio::test(start_paused = true)]
async fn items_that_probe_an_outage_are_not_buried_for_it() {
    let start = Instant::now();
    let breaker = BreakerConfig::new().failure_threshold(5).timeout(Duration::from_secs(30));
    let report = Workflow::new("probes")
        .retry(policy!(attempts = 1))
        .max_parallel(1)
        .error_policy(ErrorPolicy::new().circuit_breaker(breaker))
        .run(0..50_u32, move |n: u32, _| {
            // One of them would fail in any case.
            let up = start.elapsed() >= Duration::from_secs(300) && n != 49;
            async move { if up { Ok(()) } else { Err(refused()) } }
        })
        .await
        .unwrap();
    // Those that opened the breaker, and item 49.
    assert_eq!((report.dead(), report.succeeded()), (6, 44), "{report}");
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_stops_the_job_if_configured_and_is_stored() {
    let store = SqliteStore::in_memory();
    let run = |on_open: OnOpen| {
        Workflow::new("remembers")
            .store(store.clone())
            .retry(policy!(attempts = 1))
            .max_parallel(1)
            .error_policy(
                ErrorPolicy::new()
                    .circuit_breaker(BreakerConfig::new().timeout(Duration::from_secs(60)))
                    .on_open(on_open),
            )
            .run(
                0..20_u32,
                move |n: u32, _| async move { if n < 5 { Err(refused()) } else { Ok(()) } },
            )
    };
    let report = run(OnOpen::Stop).await.unwrap();
    assert_eq!(report.stopped(), Some(&StopReason::BreakerOpen));
    assert_eq!((report.dead(), report.succeeded()), (5, 0));
    let start = Instant::now();
    let report = run(OnOpen::Wait).await.unwrap();
    assert_eq!(report.succeeded(), 15);
    assert!(start.elapsed() >= Duration::from_secs(59), "{:?}", start.elapsed());
}

#[derive(Debug)]
struct RateLimited;

impl fmt::Display for RateLimited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("429 Too Many Requests")
    }
}

impl std::error::Error for RateLimited {}

impl Classify for RateLimited {
    fn class(&self) -> Class {
        Class::RATE_LIMIT
    }

    fn retry_after(&self) -> Option<Duration> {
        Some(Duration::from_secs(300))
    }
}

#[tokio::test(start_paused = true)]
async fn one_items_rate_limit_holds_all_items_also_for_the_next_process() {
    let store = SqliteStore::in_memory();
    let (calls, start) = (Calls::default(), Instant::now());
    let run = |dies: bool| {
        let calls = calls.clone();
        let workflow = Workflow::new("held")
            .store(store.clone())
            .retry(policy!(attempts = 3))
            .classified()
            .max_parallel(1)
            .error_policy(ErrorPolicy::new().circuit_breaker(
                BreakerConfig::new().failure_threshold(1).hold(Duration::from_secs(3_600)),
            ));
        let handled = workflow.run(keyed(0..20_u32, u32::to_string), move |n: u32, _| {
            calls.count(n);
            let limits = start.elapsed() < Duration::from_secs(300);
            async move { if limits { Err(RateLimited) } else { Ok(()) } }
        });
        async move {
            let limit = Duration::from_secs(if dies { 60 } else { 3_600 });
            tokio::time::timeout(limit, handled).await
        }
    };
    run(true).await.unwrap_err();
    assert_eq!(calls.sum(), 1, "no other item asked the server");
    let record = BreakerRecord::find(&store, "held-1").await.unwrap().unwrap();
    assert_eq!((record.state, record.consecutive_failures), (State::Closed, 0));
    let left = record.held_until.unwrap().since(store.now());
    assert!(left > Duration::from_secs(239), "{left:?}");
    let job = Job::find(&store, "held-1").await.unwrap().unwrap();
    let counts = store.counts("held-1").await.unwrap();
    let waits = Waits::load(&store, &job, &counts).await.unwrap();
    let lines = waits.lines(&counts, Unit::Item, store.now());
    let (what, text) = lines.iter().find(|(what, _)| *what == "breaker").unwrap();
    assert!(text.starts_with("held until "), "{what}: {text}");

    let report = run(false).await.unwrap().unwrap();
    assert!(report.is_success(), "{report}");
    assert_eq!(calls.sum(), 21);
    assert!(start.elapsed() >= Duration::from_secs(300), "{:?}", start.elapsed());
    assert!(start.elapsed() < Duration::from_secs(310), "{:?}", start.elapsed());
}

#[test]
fn a_hold_is_read_from_a_file_and_from_older_records() {
    let policy: ErrorPolicy =
        serde_json::from_str(r#"{ "circuit_breaker": { "hold": "5m" } }"#).unwrap();
    let hold = BreakerConfig::new().hold(Duration::from_secs(300));
    assert_eq!(policy, policy.clone().circuit_breaker(hold));
    let zero = serde_json::from_str::<ErrorPolicy>(r#"{ "circuit_breaker": { "hold": 0 } }"#);
    assert!(zero.unwrap_err().to_string().contains("a hold of 0s holds no call"));
    let stored = r#"{ "state": "closed", "consecutive_failures": 2, "open_until": null }"#;
    let record: BreakerRecord = serde_json::from_str(stored).unwrap();
    assert_eq!(record.held_until, None);
}

#[tokio::test(start_paused = true)]
async fn failures_are_collected_as_the_policy_configures() {
    let run = |collection: ErrorCollection| async move {
        let batches = Arc::new(Mutex::new(Vec::new()));
        let report = Workflow::new("collected")
            .retry(policy!(attempts = 1))
            .error_policy(ErrorPolicy::new().error_collection(collection))
            .on_event({
                let batches = batches.clone();
                move |event| {
                    if let JobEvent::Failures(failures) = event {
                        batches.lock().unwrap().push(failures.len());
                    }
                }
            })
            .run(1..=24_u32, |n: u32, _| async move { odd(n) })
            .await
            .unwrap();
        assert_eq!(report.patterns.len(), 1);
        assert_eq!(report.patterns[0].group.count, 12);
        Arc::into_inner(batches).unwrap().into_inner().unwrap()
    };
    assert_eq!(run(ErrorCollection::Aggregate).await, [0; 0]);
    assert_eq!(run(ErrorCollection::Immediate).await, [1; 12]);
    assert_eq!(run(ErrorCollection::Batched { size: 5 }).await, [5, 5, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_of_failures_that_panics_loses_nothing() {
    let report = Workflow::new("handler")
        .retry(policy!(attempts = 1))
        .error_policy(ErrorPolicy::new().on_item_failure(OnItemFailure::Custom("bad".into())))
        .handler("bad", |failed| {
            assert!(failed.attempt > 1, "it panics before there is a future");
            async { OnItemFailure::Skip }
        })
        .run([1], |n: u32, _| async move { odd(n) })
        .await
        .unwrap();
    assert_eq!(report.dead(), 1);
}

#[test]
fn a_number_of_seconds_is_read_with_and_without_all_digits() {
    let policy = |number: &str| {
        let policy = format!(r#"{{ "circuit_breaker": {{ "timeout": {number} }} }}"#);
        serde_json::from_str::<ErrorPolicy>(&policy)
    };
    // The form of `serde_json` with `arbitrary_precision`.
    let with_digits = policy(r#"{"$serde_json::private::Number":"1.50"}"#).unwrap();
    assert_eq!(with_digits, policy("1.50").unwrap());
    assert_eq!(with_digits, policy(r#"{"secs":1,"nanos":500000000}"#).unwrap());
}
