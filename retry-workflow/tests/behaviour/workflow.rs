//! Jobs of many items, on virtual time, in memory.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::matchers::{network, timeout};
use retry_workflow::{
    AttemptOutcome, BreakerConfig, ErrorCollection, ErrorPolicy, Filter, ItemContext, ItemState,
    Job, JobEvent, JobReport, JobStatus, MemoryStore, NewItem, OnItemFailure, OnOpen, Policy,
    StopReason, Store, Timestamp, WaitReason, Workflow, WorkflowError, keyed, policy,
};
use tokio::time::Instant;

fn refused() -> io::Error {
    io::ErrorKind::ConnectionRefused.into()
}

fn odd(n: u32) -> Result<(), String> {
    if n.is_multiple_of(2) { Ok(()) } else { Err(format!("{n} is odd")) }
}

/// How often each item was handled.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<BTreeMap<u32, u32>>>);

impl Calls {
    /// Counts a call, and says which one it is.
    fn count(&self, item: u32) -> u32 {
        let mut calls = self.0.lock().unwrap();
        let count = calls.entry(item).or_default();
        *count += 1;
        *count
    }

    fn sum(&self) -> u32 {
        self.0.lock().unwrap().values().sum()
    }
}

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
    // 1 s and 2 s for all of them at once, not one after another.
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    assert_eq!(report.counts.waited, Duration::from_secs(20 * 3));
}

#[tokio::test(start_paused = true)]
async fn only_what_retry_on_names_is_tried_again() {
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
    let store = MemoryStore::new();
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
    let store = MemoryStore::new();
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
        .redrive(
            &retry_workflow::Filter::job("again"),
            None,
            retry_workflow::Timestamp::now(),
            Duration::ZERO,
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
    let store = MemoryStore::new();
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
async fn what_becomes_of_items_is_the_error_policys_to_say() {
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
        "`on_item_failure` names the handler `sort`, and there are only `sorted`"
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
async fn a_stopped_job_goes_on_and_counts_anew() {
    let store = MemoryStore::new();
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
    // It has finished: the next one is another job.
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
    // Ten at once, then one probe in 30 s: an outage of five minutes is no flood.
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
    // Those that have opened it, and the one.
    assert_eq!((report.dead(), report.succeeded()), (6, 44), "{report}");
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_stops_the_job_if_asked_and_is_remembered() {
    let store = MemoryStore::new();
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

#[tokio::test(start_paused = true)]
async fn the_budget_goes_on_while_nothing_runs() {
    let store = MemoryStore::new();
    let calls = Calls::default();
    let workflow = || {
        Workflow::new("budget").store(store.clone()).retry(policy!(
            attempts = 10,
            initial_delay = "60s",
            max_delay = "60s",
            budget = "5m"
        ))
    };
    let handler = {
        let calls = calls.clone();
        move |n: u32, _: retry_workflow::ItemContext| {
            calls.count(n);
            async { Err::<(), _>(refused()) }
        }
    };
    // Stopped while the item waits for its second attempt.
    let stop = tokio::time::sleep(Duration::from_secs(10));
    let report = workflow().stop_on(stop).run([1], handler.clone()).await.unwrap();
    assert_eq!((report.stopped(), calls.sum()), (Some(&StopReason::Requested), 1));
    tokio::time::advance(Duration::from_secs(3600)).await;
    let report = workflow().resume("budget-1", handler).await.unwrap();
    assert_eq!((report.dead(), calls.sum()), (1, 1));
    assert_eq!(report.classes, BTreeMap::from([("network".into(), 1)]));
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_running_items_end_and_puts_the_others_back() {
    let store = MemoryStore::new();
    let (calls, start) = (Calls::default(), Instant::now());
    let run = |stop: Duration| {
        let calls = calls.clone();
        Workflow::new("ctrl-c")
            .store(store.clone())
            .max_parallel(4)
            .stop_on(tokio::time::sleep(stop))
            .run(0..12_u32, move |n: u32, _| {
                calls.count(n);
                async move {
                    tokio::time::sleep(Duration::from_secs(10)).await;
                    Ok::<_, String>(())
                }
            })
    };
    let report = run(Duration::from_secs(5)).await.unwrap();
    assert_eq!(report.stopped(), Some(&StopReason::Requested));
    assert_eq!((report.succeeded(), report.counts.leased), (4, 0));
    assert_eq!(start.elapsed().as_secs(), 10);
    let report = run(Duration::from_secs(3600)).await.unwrap();
    assert!(report.is_success());
    assert_eq!(calls.sum(), 12);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_job_loses_nothing() {
    let store = MemoryStore::new();
    let calls = Calls::default();
    let run = || {
        let calls = calls.clone();
        Workflow::new("dropped").store(store.clone()).max_parallel(3).run(
            0..9_u32,
            move |n: u32, _| {
                calls.count(n);
                async move {
                    tokio::time::sleep(Duration::from_secs(10)).await;
                    Ok::<_, String>(())
                }
            },
        )
    };
    let cut = tokio::time::timeout(Duration::from_secs(15), run()).await;
    assert!(cut.is_err());
    let start = Instant::now();
    let report = run().await.unwrap();
    assert!(report.is_success());
    // Given back, not waited for: a lease is 30 s long.
    assert!(start.elapsed() <= Duration::from_secs(21), "{:?}", start.elapsed());
    assert_eq!(calls.sum(), 9 + 3);
    assert_eq!(report.counts.lost, 0);
}

#[tokio::test(start_paused = true)]
async fn two_workers_share_a_job_and_no_item_is_handled_twice() {
    let store = MemoryStore::new();
    let calls = Calls::default();
    let run = || {
        let calls = calls.clone();
        Workflow::new("shared").job_id("shared").store(store.clone()).max_parallel(3).run(
            0..200_u32,
            move |n: u32, _| {
                calls.count(n);
                async move {
                    tokio::time::sleep(Duration::from_secs(100)).await;
                    odd(n)
                }
            },
        )
    };
    let (one, two) = tokio::join!(run(), run());
    assert_eq!(calls.sum(), 100 + 3 * 100);
    for report in [one.unwrap(), two.unwrap()] {
        assert_eq!((report.succeeded(), report.dead()), (100, 100));
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_collected_as_the_policy_asks() {
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

/// What the workers of a job have waited for, the same one once.
#[derive(Clone, Default)]
struct Waits(Arc<Mutex<Vec<WaitReason>>>);

impl Waits {
    fn hear(&self, event: &JobEvent<'_>) {
        if let JobEvent::Progress { waits_for: Some(reason), .. } = event {
            let mut waits = self.0.lock().unwrap();
            let is_same =
                |last: &WaitReason| std::mem::discriminant(last) == std::mem::discriminant(reason);
            if !waits.last().is_some_and(is_same) {
                waits.push(*reason);
            }
        }
    }

    fn heard(&self) -> Vec<WaitReason> {
        self.0.lock().unwrap().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_worker_waits_for_is_told_with_its_reason() {
    let run = |store: MemoryStore, policy: ErrorPolicy, takes: fn(u32) -> u64, fails: u32| async move {
        let (waits, calls) = (Waits::default(), Calls::default());
        let hears = waits.clone();
        Workflow::new("waits")
            .job_id("waits")
            .store(store)
            .retry(policy!(attempts = 2, initial_delay = "10s"))
            .error_policy(policy)
            .on_event(move |event| hears.hear(event))
            .run(keyed([1_u32, 2], |n: &u32| n.to_string()), move |n: u32, _| {
                let calls = calls.clone();
                async move {
                    tokio::time::sleep(Duration::from_secs(takes(n))).await;
                    if n == fails && calls.count(n) == 1 { Err(refused()) } else { Ok(()) }
                }
            })
            .await
            .unwrap();
        waits.heard()
    };
    let heard = run(MemoryStore::new(), ErrorPolicy::new(), |_| 0, 1).await;
    let [WaitReason::Due { wait, .. }] = heard[..] else { panic!("{heard:?}") };
    assert!((7..10).contains(&wait.as_secs()), "{wait:?}");

    let breaker = BreakerConfig::new().failure_threshold(1).timeout(Duration::from_secs(20));
    let policy = ErrorPolicy::new().circuit_breaker(breaker);
    let heard = run(MemoryStore::new(), policy, |_| 0, 1).await;
    assert!(matches!(heard[0], WaitReason::Breaker { .. }), "{heard:?}");

    // Another worker has one of them.
    let store = MemoryStore::new();
    let now = store.now();
    store.enqueue("waits", vec![NewItem::new("2", "2")], now).await.unwrap();
    store.claim("waits", "other", now, 1, 1, Duration::from_secs(20)).await.unwrap();
    let heard = run(store, ErrorPolicy::new(), |_| 0, 0).await;
    let [WaitReason::Lease { wait, .. }] = heard[..] else { panic!("{heard:?}") };
    assert!((17..20).contains(&wait.as_secs()), "{wait:?}");

    // Two workers have died with it, and another item takes longer than it waits for its turn.
    let store = MemoryStore::new();
    let now = store.now();
    store.enqueue("waits", vec![NewItem::new("2", "2")], now).await.unwrap();
    for second in 0..2 {
        let at = now + Duration::from_secs(second);
        store.claim("waits", "other", at, 1, 1, Duration::from_millis(1)).await.unwrap();
    }
    let heard = run(store, ErrorPolicy::new(), |_| 90, 0).await;
    assert_eq!(heard, [WaitReason::Alone, WaitReason::Suspect]);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_stops_waits_for_what_runs() {
    let waits = Waits::default();
    let hears = waits.clone();
    let report = Workflow::new("stops")
        .retry(policy!(attempts = 1))
        .error_policy(ErrorPolicy::new().continue_on_failure(false))
        .on_event(move |event| hears.hear(event))
        .run(1..=2_u32, |n: u32, _| async move {
            tokio::time::sleep(Duration::from_secs(u64::from(n - 1) * 30)).await;
            odd(n)
        })
        .await
        .unwrap();
    assert_eq!((report.dead(), report.succeeded()), (1, 1));
    assert_eq!(waits.heard(), [WaitReason::Stop]);
}

#[tokio::test(start_paused = true)]
async fn items_are_known_again_by_their_keys() {
    let store = MemoryStore::new();
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

#[tokio::test(start_paused = true)]
async fn settings_that_cannot_be_obeyed_are_refused_before_anything_runs() {
    async fn refused<S: Store>(workflow: Workflow<S>) -> String {
        let run = workflow.run([1], |_: u32, _| async { Ok::<_, String>(()) });
        chain(&run.await.unwrap_err())
    }

    let new = || Workflow::new("refused");
    for (workflow, said) in [
        (new().max_parallel(0), "write at least 1"),
        (new().lease(Duration::ZERO), "100ms at least"),
        (new().retry(Policy::new().attempts(0)), "at least 1"),
        (new().retry(Policy::new().deadline(Duration::from_secs(60))), "write a `budget`"),
        (new().error_policy(ErrorPolicy::new().failure_threshold(1.5)), "such as 0.25"),
        (new().error_policy(ErrorPolicy::new().max_failures(0)), "continue_on_failure: false"),
    ] {
        let error = refused(workflow).await;
        assert!(error.contains(said), "{error}");
    }
    let resume = Workflow::new("x").resume("nothing-1", |_: u32, _| async { Ok::<_, String>(()) });
    let error = resume.await.unwrap_err();
    assert!(matches!(&error, WorkflowError::UnknownJob { .. }));
    assert_eq!(error.to_string(), "there is no job `nothing-1` in this store: it has none");
}

#[tokio::test(start_paused = true)]
async fn an_empty_job_is_a_finished_one() {
    let store = MemoryStore::new();
    let report = Workflow::new("empty")
        .store(store.clone())
        .run(Vec::<u32>::new(), |_: u32, _| async { Ok::<_, String>(()) })
        .await
        .unwrap();
    assert!(report.is_success());
    assert_eq!(Job::all(&store).await.unwrap().len(), 1);
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
async fn a_job_whose_input_was_not_read_to_its_end_does_not_finish_without_it() {
    let store = MemoryStore::new();
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
async fn a_job_whose_places_are_nearly_full_rests() {
    // A loop that did not rest would never let this clock go on.
    let report = Workflow::new("rests")
        .max_parallel(10)
        .run(0..10_u64, |n: u64, _| async move {
            tokio::time::sleep(Duration::from_secs(if n == 0 { 1 } else { 1_000 })).await;
            Ok::<_, String>(())
        })
        .await
        .unwrap();
    assert!(report.is_success());
}

#[tokio::test(start_paused = true)]
async fn no_place_stays_empty_while_items_wait() {
    let start = Instant::now();
    let duration = |n: u64| 10 + n % 12;
    let report = Workflow::new("places")
        .max_parallel(12)
        .run(0..120_u64, move |n: u64, _| async move {
            tokio::time::sleep(Duration::from_secs(duration(n))).await;
            Ok::<_, String>(())
        })
        .await
        .unwrap();
    assert!(report.is_success());
    let work: u64 = (0..120).map(duration).sum();
    let bound = work / 12 + duration(11);
    assert!(start.elapsed().as_secs() <= bound, "{:?} and not {bound}", start.elapsed());
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

/// On real time: what is tested is a thread that is kept from looking after its leases.
#[tokio::test]
async fn handlers_that_block_the_only_thread_for_longer_than_a_lease_lose_nothing() {
    let calls = Calls::default();
    let report = Workflow::new("blocks")
        .lease(Duration::from_millis(100))
        .max_parallel(4)
        .run(0..6_u32, {
            let calls = calls.clone();
            move |n: u32, _| {
                calls.count(n);
                async {
                    std::thread::sleep(Duration::from_millis(120));
                    Ok::<_, String>(())
                }
            }
        })
        .await
        .unwrap();
    assert!(report.is_success(), "{report}");
    assert_eq!((calls.sum(), report.counts.lost), (6, 0));
}

#[tokio::test(start_paused = true)]
async fn a_job_may_change_its_thread() {
    fn can_move<T: Send>(future: T) -> T {
        future
    }

    let store = MemoryStore::new();
    let workflow = || Workflow::new("moves").store(store.clone()).stop_on(std::future::pending());
    let handler = |_: u32, _: retry_workflow::ItemContext| async { Ok::<_, String>(()) };
    can_move(workflow().run([1, 2], handler)).await.unwrap();
    can_move(workflow().resume("moves-1", handler)).await.unwrap();
    let graph = retry_workflow::Graph::new("moves")
        .task(retry_workflow::Task::new("a", |_| async { Ok::<_, String>(()) }));
    can_move(graph.run()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn other_items_in_the_place_of_those_of_a_stopped_job_are_not_lost() {
    let store = MemoryStore::new();
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
    assert!(error.to_string().contains("give it another `job_id`"), "{error}");
}

/// An error with all that lies below it, as `{:#}` of anyhow prints it.
fn chain(error: &dyn std::error::Error) -> String {
    let below = std::iter::successors(error.source(), |&error| error.source());
    below.fold(error.to_string(), |text, error| format!("{text}: {error}"))
}

#[tokio::test(start_paused = true)]
async fn errors_tell_their_causes_once() {
    let policy = retry_workflow::Policy::new().attempts(0);
    let run =
        Workflow::new("none").retry(policy).run([1], |_: u32, _| async { Ok::<_, String>(()) });
    let error = run.await.unwrap_err();
    assert_eq!(error.to_string(), "the retry policy cannot be obeyed");
    let cause = policy.validate().unwrap_err();
    assert_eq!(chain(&error), format!("the retry policy cannot be obeyed: {cause}"));

    // JSON has texts only for keys.
    let odd = std::collections::BTreeMap::from([((1, 2), 3)]);
    let run = Workflow::new("odd").run(
        retry_workflow::keyed([odd], |_| "a".to_owned()),
        |_: std::collections::BTreeMap<(u32, u32), u32>, _| async { Ok::<_, String>(()) },
    );
    let error = run.await.unwrap_err();
    assert_eq!(error.to_string(), "item `a` cannot be written as JSON");
    assert_eq!(chain(&error), "item `a` cannot be written as JSON: key must be a string");

    // What only passes an error on adds nothing to it.
    let store = retry_workflow::StoreError::other("the cable is cut");
    let shown = "the store failed: the cable is cut";
    assert_eq!(chain(&store), shown);
    assert_eq!(chain(&WorkflowError::from(store.clone())), shown);
    assert_eq!(chain(&retry_workflow::ImportError::from(store.clone())), shown);
    assert_eq!(chain(&retry_workflow::ExportError::from(store.clone())), shown);
    assert_eq!(chain(&retry_workflow::SignatureError::from(store)), shown);
}

#[tokio::test(start_paused = true)]
async fn what_an_attempt_leaves_for_the_next_is_json_once() {
    let store = MemoryStore::new();
    let hour = Duration::from_secs(3600);
    let run = Workflow::new("once")
        .store(store.clone())
        .retry(Policy::new().attempts(2).initial_delay(hour).max_delay(hour))
        .run([1], |_: u32, _| async { Err::<(), _>("it said \"no\"") });
    tokio::time::timeout(Duration::from_secs(10), run).await.unwrap_err();
    let later = retry_workflow::Timestamp::now() + 2 * hour;
    let leases = store.claim("once-1", "other", later, 1, 1, hour).await.unwrap();
    let left: serde_json::Value =
        serde_json::from_str(leases[0].checkpoint.as_deref().unwrap()).unwrap();
    assert_eq!(left["work"]["failure"]["message"], "it said \"no\"");
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_that_is_not_json_fails_its_item() {
    use retry_workflow::{AttemptReport, JobRunner, NewItem, Work, WorkItem, WorkOutcome};

    struct Careless;
    impl Work for Careless {
        async fn attempt(&self, _: WorkItem<'_>) -> AttemptReport {
            let checkpoint = "half done".to_owned();
            AttemptReport::new(WorkOutcome::Retry { wait: Duration::ZERO, checkpoint })
        }
    }
    let store = MemoryStore::new();
    let items = vec![NewItem::new("a", "1")];
    let runner = JobRunner::new("careless").store(store.clone());
    assert_eq!(runner.run(items.into_iter(), Careless).await.unwrap().dead(), 1);
    let item = store.item("careless-1", "a").await.unwrap().unwrap();
    let message = item.failure.unwrap().message;
    assert!(message.starts_with("the checkpoint of the attempt is not JSON: "), "{message}");
}

#[tokio::test(start_paused = true)]
async fn what_ids_are_made_of_is_checked() {
    let run = |workflow: Workflow| workflow.run([1], |_: u32, _| async { Ok::<_, String>(()) });
    for (name, why) in [
        (
            " ",
            "` ` is not a valid job name: it is empty, and the ids of jobs are made of it: write one",
        ),
        (
            "a\nb",
            "`a\\nb` is not a valid job name: it has a control character in it, `\\n`, and the ids of jobs are made of it: remove the character",
        ),
    ] {
        let error = run(Workflow::new(name)).await.unwrap_err();
        assert!(matches!(error, WorkflowError::Name { .. }));
        assert_eq!(error.to_string(), why);
        let error = run(Workflow::new("good").job_id(name)).await.unwrap_err();
        assert_eq!(error.to_string(), why);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_knows_who_works_on_it_until_that_ends() {
    let store = MemoryStore::new();
    let (seen, in_handler) = (Arc::new(Mutex::new(Vec::new())), store.clone());
    let log = Arc::clone(&seen);
    Workflow::new("seen")
        .store(store.clone())
        .run([1], move |_: u32, cx: ItemContext| {
            let (store, log) = (in_handler.clone(), Arc::clone(&log));
            async move {
                // Longer than a heartbeat is good for.
                tokio::time::sleep(Duration::from_secs(100)).await;
                let job = Job::find(&store, cx.job()).await.unwrap().unwrap();
                assert!(job.is_live(Timestamp::now()));
                log.lock().unwrap().extend(job.workers.into_iter().map(|one| one.worker));
                assert_eq!(*log.lock().unwrap(), [cx.worker()]);
                Ok::<_, String>(())
            }
        })
        .await
        .unwrap();
    assert_eq!(seen.lock().unwrap().len(), 1);
    let job = Job::find(&store, "seen-1").await.unwrap().unwrap();
    assert!(job.workers.is_empty() && !job.is_live(Timestamp::now()));
}

#[tokio::test(start_paused = true)]
async fn a_job_asks_no_other_clock_than_that_of_its_store() {
    let then: Timestamp = "2100-01-01".parse().unwrap();
    let begun = Instant::now();
    let store = MemoryStore::with_clock(move || then + begun.elapsed());
    let in_handler = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&in_handler);
    let breaker = BreakerConfig::new().failure_threshold(2).timeout(Duration::from_secs(30));
    Workflow::new("late")
        .store(store.clone())
        .retry(policy!(attempts = 3, initial_delay = "1s", budget = "1h"))
        .error_policy(ErrorPolicy::new().circuit_breaker(breaker))
        .run(0..4, move |n: u32, _| {
            asked.lock().unwrap().push(Timestamp::now());
            async move { odd(n) }
        })
        .await
        .unwrap();
    let job = Job::find(&store, "late-1").await.unwrap().unwrap();
    let mut times = vec![job.created, job.ended.unwrap()];
    times.append(&mut in_handler.lock().unwrap());
    for n in ["0", "1", "2", "3"] {
        let listed =
            store.list(&Filter::job("late-1").states(ItemState::ALL), None, 9).await.unwrap();
        let id = &listed.items[n.parse::<usize>().unwrap()].id;
        let item = store.item("late-1", id).await.unwrap().unwrap();
        times.push(item.ended.unwrap());
        times.extend(item.history.iter().map(|row| row.started));
    }
    assert!(times.len() > 12);
    assert!(times.iter().all(|time| time.since(then) < Duration::from_secs(3_600)), "{times:?}");
    assert!(times.iter().all(|time| *time >= then), "{times:?}");
}
