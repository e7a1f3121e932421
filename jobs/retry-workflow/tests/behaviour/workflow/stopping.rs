//! Jobs that are stopped, dropped and resumed; their workers, and their clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::{
    BreakerConfig, ErrorPolicy, Filter, ItemContext, ItemState, Job, SqliteStore, StopReason,
    Store, Timestamp, WaitReason, Workflow, policy,
};
use tokio::time::Instant;

use super::support::{Calls, Waits, odd, refused};

mod read_again;

#[tokio::test(start_paused = true)]
async fn the_budget_goes_on_while_nothing_runs() {
    let store = SqliteStore::in_memory();
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
    let store = SqliteStore::in_memory();
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
    let store = SqliteStore::in_memory();
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
    // Released rather than waited for: a lease lasts 30 s.
    assert!(start.elapsed() <= Duration::from_secs(21), "{:?}", start.elapsed());
    assert_eq!(calls.sum(), 9 + 3);
    assert_eq!(report.counts.lost, 0);
}

#[tokio::test(start_paused = true)]
async fn a_stopping_job_waits_for_running_items() {
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
async fn an_empty_job_is_a_finished_one() {
    let store = SqliteStore::in_memory();
    let report = Workflow::new("empty")
        .store(store.clone())
        .run(Vec::<u32>::new(), |_: u32, _| async { Ok::<_, String>(()) })
        .await
        .unwrap();
    assert!(report.is_success());
    assert_eq!(Job::all(&store).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_job_lists_its_workers_until_they_end() {
    let store = SqliteStore::in_memory();
    let (seen, in_handler) = (Arc::new(Mutex::new(Vec::new())), store.clone());
    let log = Arc::clone(&seen);
    Workflow::new("seen")
        .store(store.clone())
        .run([1], move |_: u32, cx: ItemContext| {
            let (store, log) = (in_handler.clone(), Arc::clone(&log));
            async move {
                // Longer than a heartbeat is valid.
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

/// A store whose clock started at another time.
#[derive(Clone)]
struct Elsewhen {
    store: SqliteStore,
    then: Timestamp,
    begun: Instant,
}

impl Store for Elsewhen {
    fn now(&self) -> Timestamp {
        self.then + self.begun.elapsed()
    }

    forward!(elsewhen => elsewhen.store);
}

#[tokio::test(start_paused = true)]
async fn a_job_reads_only_the_clock_of_its_store() {
    let then: Timestamp = "2100-01-01".parse().unwrap();
    let store = Elsewhen { store: SqliteStore::in_memory(), then, begun: Instant::now() };
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

#[tokio::test(start_paused = true)]
async fn the_last_worker_to_leave_reports_the_end_once() {
    let (store, heard) = (SqliteStore::in_memory(), Arc::new(Mutex::new(Vec::new())));
    let run = |most: usize| {
        let heard = Arc::clone(&heard);
        Workflow::new("shared")
            .job_id("shared")
            .store(store.clone())
            .max_parallel(most)
            .on_finish(move |report| async move {
                heard.lock().unwrap().push(report.succeeded());
                panic!("the mail server is down");
            })
            .run(0..30_u32, |n: u32, _| async move {
                tokio::time::sleep(Duration::from_secs(n.into())).await;
                Ok::<_, String>(())
            })
    };
    let (one, two) = tokio::join!(run(1), run(20));
    assert_eq!((one.unwrap().succeeded(), two.unwrap().succeeded()), (30, 30));
    assert_eq!(*heard.lock().unwrap(), [30]);
}

#[tokio::test(start_paused = true)]
async fn a_job_stops_when_its_future_ends_whatever_that_returns() {
    let report = Workflow::new("stopped")
        .stop_on(std::future::ready(std::io::Result::Ok(())))
        .run([1], |_: u32, _| async { Ok::<_, String>(()) })
        .await
        .unwrap();
    assert_eq!((report.stopped(), report.succeeded()), (Some(&StopReason::Requested), 0));
}

/// Adds a worker of another machine to the record of a job, whose heartbeat is valid for as long as
/// the one of the worker that is there; or renews it.
async fn beat_elsewhere(store: &SqliteStore, job: &str) {
    let key = format!("job/{job}");
    let (revision, text) = store.get(&key).await.unwrap().unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let workers = record["workers"].as_array_mut().unwrap();
    let mut other = workers[0].clone();
    workers.retain(|worker| worker["worker"] != "other");
    other["worker"] = "other".into();
    other["machine"] = "elsewhere".into();
    other["until"] = serde_json::json!(store.now() + Duration::from_secs(20));
    workers.push(other);
    assert!(store.cas(&key, revision, &record.to_string()).await.unwrap());
}

/// A job that calls `on_finish` with its report; while its item runs, another worker begins.
async fn run_beside(store: &SqliteStore, heard: &Arc<Mutex<Vec<u64>>>) -> Duration {
    let heard = Arc::clone(heard);
    let began = Instant::now();
    let workflow = Workflow::new("shared").job_id("shared").store(store.clone());
    let workflow = workflow.on_finish(move |report| async move {
        heard.lock().unwrap().push(report.succeeded());
    });
    let other = store.clone();
    let handler = move |_: u32, _| {
        let other = other.clone();
        async move {
            beat_elsewhere(&other, "shared").await;
            Ok::<_, String>(())
        }
    };
    workflow.run([1], handler).await.unwrap();
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_died_elsewhere_does_not_take_the_end_with_it() {
    let (store, heard) = (SqliteStore::in_memory(), Arc::new(Mutex::new(Vec::new())));
    let took = run_beside(&store, &heard).await;
    assert_eq!(*heard.lock().unwrap(), [1]);
    assert!((20..22).contains(&took.as_secs()), "until its heartbeat is old: {took:?}");
    let job = Job::find(&store, "shared").await.unwrap().unwrap();
    assert!(!job.is_finish_due(&store, "shared").await.unwrap() && !job.is_live(store.now()));
}

#[tokio::test(start_paused = true)]
async fn the_end_is_left_to_a_worker_that_is_alive() {
    let (store, heard) = (SqliteStore::in_memory(), Arc::new(Mutex::new(Vec::new())));
    let renews = async {
        tokio::time::sleep(Duration::from_secs(6)).await;
        beat_elsewhere(&store, "shared").await;
    };
    let (took, ()) = tokio::join!(run_beside(&store, &heard), renews);
    assert!(heard.lock().unwrap().is_empty());
    assert!((6..8).contains(&took.as_secs()), "{took:?}");
    let job = Job::find(&store, "shared").await.unwrap().unwrap();
    assert!(job.is_finish_due(&store, "shared").await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn work_after_the_end_holds_the_job_and_runs_again_if_dropped() {
    let store = SqliteStore::in_memory();
    let workflow = Workflow::new("import").store(store.clone());
    let report = workflow.run([1], |_: u32, _| async { Ok::<_, String>(()) }).await.unwrap();
    let job = &report.job;
    let lasts = |seconds| {
        let steps = move |key| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Some(key)
        };
        job.finish(&store, "import-1", |_| {}, steps)
    };
    // Far longer than its lease.
    let second = async {
        tokio::time::sleep(Duration::from_secs(500)).await;
        lasts(0).await
    };
    let dropped = tokio::time::timeout(Duration::from_secs(700), lasts(1_000));
    let (dropped, second) = tokio::join!(dropped, second);
    assert!(dropped.is_err());
    assert_eq!(second.unwrap(), None, "another worker runs it");
    assert_eq!(lasts(1).await.unwrap().as_deref(), Some("import-1/end-1"), "the same key");
    assert_eq!(lasts(1).await.unwrap(), None);
    let interrupted = job.finish(&store, "import-1", |_| {}, |_| async { None::<()> });
    assert_eq!(interrupted.await.unwrap(), None);
}
