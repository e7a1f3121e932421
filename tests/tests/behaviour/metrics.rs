//! Events through the `metrics` facade: dashboards are built on the names, labels, units and
//! numbers.

use std::sync::Arc;

use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use retry_runtime::{
    BreakerConfig, Breakers, CircuitBreaker, Policy, QuotaConfig, Reason, Retrier, RetryQuota,
    policy, retry,
};
use retry_workflow::store::NewItem;
use retry_workflow::work::{AttemptReport, AttemptTimer, WorkItem};
use retry_workflow::{JobRunner, Work, Workflow};
use tokio::time::advance;

use crate::support::{Calls, Failure, millis, secs};

/// The measurements since the last snapshot: kind, name, labels and value per line, sorted.
fn measured(recorder: &Snapshotter) -> Vec<String> {
    let measured = recorder.snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
        let labels: Vec<_> =
            key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let (kind, value) = match value {
            DebugValue::Counter(0) => return String::new(),
            DebugValue::Counter(count) => ("counter", count.to_string()),
            DebugValue::Gauge(level) => ("gauge", level.to_string()),
            DebugValue::Histogram(values) if values.is_empty() => return String::new(),
            DebugValue::Histogram(values) => {
                ("histogram", values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
            }
        };
        format!("{kind} {}{{{}}} {value}", key.key().name(), labels.join(","))
    });
    let mut lines: Vec<_> = measured.filter(|line| !line.is_empty()).collect();
    lines.sort();
    lines
}

#[tokio::test(start_paused = true)]
async fn calls_are_counted_by_name_and_their_waits_measured_in_seconds() {
    #[retry(attempts = 3, name = "metrics.fetch")]
    async fn fetch(calls: &Calls, works_at: u32) -> Result<(), Failure> {
        let call = calls.make();
        if call == works_at { Ok(()) } else { Err(Failure::Busy(call)) }
    }
    #[retry(retry_on = [when(Failure::is_busy)], name = "metrics.final")]
    async fn final_failure() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);

    fetch(&Calls::new(), 1).await.unwrap();
    assert_eq!(measured(&seen), [""; 0], "a success at once touches nothing");
    fetch(&Calls::new(), 2).await.unwrap();
    assert_eq!(
        measured(&seen),
        [
            "counter retry_attempts_total{name=metrics.fetch} 2",
            "counter retry_recoveries_total{name=metrics.fetch} 1",
            "counter retry_retries_total{name=metrics.fetch} 1",
            "histogram retry_wait_seconds{name=metrics.fetch} 1",
        ]
    );
    fetch(&Calls::new(), 0).await.unwrap_err();
    final_failure().await.unwrap_err();
    assert_eq!(
        measured(&seen),
        [
            "counter retry_attempts_total{name=metrics.fetch} 3",
            "counter retry_attempts_total{name=metrics.final} 1",
            "counter retry_give_ups_total{name=metrics.fetch,reason=attempts} 1",
            "counter retry_give_ups_total{name=metrics.final,reason=not_retryable} 1",
            "counter retry_retries_total{name=metrics.fetch} 2",
            "histogram retry_wait_seconds{name=metrics.fetch} 1 2",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_breaker_is_a_gauge_from_its_first_change_on() {
    static DB: CircuitBreaker = CircuitBreaker::new(
        "metrics.db",
        BreakerConfig::new().failure_threshold(2).success_threshold(1),
    );
    #[retry(breaker = DB, name = "metrics.query")]
    async fn query(works: bool) -> Result<(), Failure> {
        if works { Ok(()) } else { Err(Failure::Corrupt) }
    }
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);

    query(true).await.unwrap();
    assert_eq!(measured(&seen), [""; 0]);
    query(false).await.unwrap_err();
    query(false).await.unwrap_err();
    assert_eq!(
        measured(&seen),
        [
            "counter retry_attempts_total{name=metrics.query} 2",
            "counter retry_breaker_calls_total{breaker=metrics.db,kind=failure} 2",
            "counter retry_breaker_calls_total{breaker=metrics.db,kind=rejected} 1",
            "counter retry_breaker_transitions_total{breaker=metrics.db,to=open} 1",
            "counter retry_give_ups_total{name=metrics.query,reason=circuit_open} 2",
            "counter retry_retries_total{name=metrics.query} 1",
            "gauge retry_breaker_state{breaker=metrics.db} 2",
            "histogram retry_wait_seconds{name=metrics.query} 1",
        ],
        "what the breaker rejects is no attempt"
    );
    advance(secs(30)).await;
    let probe = DB.try_acquire().unwrap();
    assert_eq!(
        measured(&seen),
        [
            "counter retry_breaker_transitions_total{breaker=metrics.db,to=half_open} 1",
            "gauge retry_breaker_state{breaker=metrics.db} 1",
        ]
    );
    probe.success();
    assert_eq!(
        measured(&seen),
        [
            "counter retry_breaker_transitions_total{breaker=metrics.db,to=closed} 1",
            "gauge retry_breaker_state{breaker=metrics.db} 0",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_breaker_counts_outcomes_other_than_success() {
    let config = BreakerConfig::new().failure_rate(1.0).minimum_calls(2).slow_calls(secs(1), 1.0);
    let breaker = CircuitBreaker::new("metrics.kinds", config);
    let observing = CircuitBreaker::new("metrics.observing", config.observe_only());
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);

    breaker.try_acquire().unwrap().success();
    assert_eq!(measured(&seen), [""; 0], "a success touches nothing");
    drop(breaker.try_acquire().unwrap());
    let slow = breaker.try_acquire().unwrap();
    advance(secs(2)).await;
    slow.success();
    breaker.try_acquire().unwrap().failure();
    for breaker in [&breaker, &observing] {
        breaker.force_open();
        let _ = breaker.try_acquire();
    }
    let calls = |breaker, kind| {
        format!("counter retry_breaker_calls_total{{breaker=metrics.{breaker},kind={kind}}} 1")
    };
    let counters = measured(&seen)
        .into_iter()
        .filter(|line| line.starts_with("counter retry_breaker_calls_total"));
    assert_eq!(
        counters.collect::<Vec<_>>(),
        [
            calls("kinds", "failure"),
            calls("kinds", "forgiven"),
            calls("kinds", "rejected"),
            calls("kinds", "slow"),
            calls("observing,mode=observe", "would_reject"),
        ]
    );
}

#[test]
fn a_breaker_of_a_family_has_its_key_as_a_label() {
    let hosts = Breakers::<String>::try_new("metrics.hosts", BreakerConfig::new(), 9).unwrap();
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let breaker = hosts.of("a.example");
    breaker.try_acquire().unwrap().failure();
    breaker.force_open();
    assert_eq!(
        measured(&seen),
        [
            "counter retry_breaker_calls_total{breaker=metrics.hosts,key=a.example,kind=failure} 1",
            "counter retry_breaker_transitions_total{breaker=metrics.hosts,key=a.example,to=open} 1",
            "gauge retry_breaker_state{breaker=metrics.hosts,key=a.example} 2",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_gauge_of_a_breaker_that_is_gone_is_closed() {
    let config = BreakerConfig::new().failure_threshold(1);
    let hosts = Breakers::<String>::try_new("metrics.gone", config, 1).unwrap();
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let gauges = || {
        let lines = measured(&seen).into_iter();
        lines.filter(|line| line.starts_with("gauge")).collect::<Vec<_>>()
    };

    hosts.of("a.example").try_acquire().unwrap().failure();
    assert_eq!(gauges(), ["gauge retry_breaker_state{breaker=metrics.gone,key=a.example} 2"]);
    advance(secs(30)).await;
    hosts.of("b.example").force_open();
    assert_eq!(
        gauges(),
        [
            "gauge retry_breaker_state{breaker=metrics.gone,key=a.example} 0",
            "gauge retry_breaker_state{breaker=metrics.gone,key=b.example} 2",
        ],
        "evicted"
    );
    drop(hosts);
    assert_eq!(gauges()[1], "gauge retry_breaker_state{breaker=metrics.gone,key=b.example} 0");
    drop(CircuitBreaker::new("metrics.never.opened", config));
    assert_eq!(gauges().len(), 2, "what has no gauge gets none");
}

#[test]
fn a_breaker_that_only_observes_has_a_label() {
    let config = BreakerConfig::new().failure_threshold(1).observe_only();
    let breaker = CircuitBreaker::new("metrics.observer", config);
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    breaker.try_acquire().unwrap().failure();
    let labels = "{breaker=metrics.observer,mode=observe";
    assert_eq!(
        measured(&seen),
        [
            format!("counter retry_breaker_calls_total{labels},kind=failure}} 1"),
            format!("counter retry_breaker_transitions_total{labels},to=open}} 1"),
            format!("gauge retry_breaker_state{labels}}} 2"),
        ]
    );
    drop(breaker);
    assert!(measured(&seen).contains(&format!("gauge retry_breaker_state{labels}}} 0")));
}

#[tokio::test(start_paused = true)]
async fn a_quota_is_a_gauge_of_its_tokens() {
    static OUT: RetryQuota = RetryQuota::new("metrics.out", QuotaConfig::new().capacity(20));
    #[retry(quota = OUT, name = "metrics.send")]
    async fn send(calls: &Calls, works_at: u32) -> Result<(), Failure> {
        let call = calls.make();
        if call == works_at { Ok(()) } else { Err(Failure::Busy(call)) }
    }
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let level = || measured(&seen).into_iter().find(|line| line.starts_with("gauge")).unwrap();

    send(&Calls::new(), 0).await.unwrap_err();
    assert_eq!(level(), "gauge retry_quota_tokens{quota=metrics.out} 10");
    send(&Calls::new(), 2).await.unwrap();
    assert_eq!(level(), "gauge retry_quota_tokens{quota=metrics.out} 10", "5 and back again");
    send(&Calls::new(), 1).await.unwrap();
    assert_eq!(level(), "gauge retry_quota_tokens{quota=metrics.out} 11");
    OUT.reset();
    assert_eq!(level(), "gauge retry_quota_tokens{quota=metrics.out} 20");
}

#[tokio::test(start_paused = true)]
async fn names_that_the_program_made_are_labels_too() {
    let tenant = |what| format!("metrics.{what}.{}", 7);
    let breaker = Arc::new(CircuitBreaker::named(tenant("db"), BreakerConfig::new()));
    let quota = Arc::new(RetryQuota::named(tenant("out"), QuotaConfig::new()));
    let retrier = Retrier::new(Policy::new().attempts(2))
        .name(tenant("fetch"))
        .breaker(Arc::clone(&breaker))
        .quota(quota);
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);

    retrier.run(async || Err::<(), _>("busy")).await.unwrap_err();
    breaker.force_open();
    assert_eq!(
        measured(&seen),
        [
            "counter retry_attempts_total{name=metrics.fetch.7} 2",
            "counter retry_breaker_calls_total{breaker=metrics.db.7,kind=failure} 2",
            "counter retry_breaker_transitions_total{breaker=metrics.db.7,to=open} 1",
            "counter retry_give_ups_total{name=metrics.fetch.7,reason=attempts} 1",
            "counter retry_retries_total{name=metrics.fetch.7} 1",
            "gauge retry_breaker_state{breaker=metrics.db.7} 2",
            "gauge retry_quota_tokens{quota=metrics.out.7} 495",
            "histogram retry_wait_seconds{name=metrics.fetch.7} 1",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn each_has_a_description_and_the_waits_a_unit() {
    static DB: CircuitBreaker = CircuitBreaker::new("metrics.described", BreakerConfig::new());
    static OUT: RetryQuota = RetryQuota::new("metrics.described", QuotaConfig::new());
    #[retry(quota = OUT, breaker = DB, name = "metrics.described")]
    async fn fetch(calls: &Calls, works_at: u32) -> Result<(), Failure> {
        let call = calls.make();
        if call == works_at { Ok(()) } else { Err(Failure::Busy(call)) }
    }
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    retry_runtime::metrics::describe();
    fetch(&Calls::new(), 2).await.unwrap();
    fetch(&Calls::new(), 0).await.unwrap_err();
    DB.force_open();
    let mut described: Vec<_> = seen
        .snapshot()
        .into_vec()
        .into_iter()
        .map(|(key, unit, text, _)| {
            let kind = match key.kind() {
                MetricKind::Counter => "counter",
                MetricKind::Gauge => "gauge",
                MetricKind::Histogram => "histogram",
            };
            let unit = unit.map_or("", |unit| unit.as_str());
            format!("{kind} {} [{unit}] {}", key.key().name(), text.expect("a description"))
        })
        .collect();
    described.sort();
    // The counter is described once for each new state.
    described.dedup();
    assert_eq!(
        described,
        [
            "counter retry_attempts_total [] Attempts of calls that failed at least once",
            "counter retry_breaker_calls_total [] Calls to a circuit breaker that did not simply succeed",
            "counter retry_breaker_transitions_total [] Changes of a circuit breaker's state, by the new one",
            "counter retry_give_ups_total [] Calls that were given up, by reason",
            "counter retry_recoveries_total [] Calls that succeeded after having failed",
            "counter retry_retries_total [] Failed attempts that were followed by a wait",
            "gauge retry_breaker_state [] State of a circuit breaker: 0 closed, 1 half-open, 2 open",
            "gauge retry_quota_tokens [] Tokens in a retry quota",
            "histogram retry_wait_seconds [seconds] Waits between attempts",
        ]
    );
}

/// The measurements of jobs, with the labels of the job shortened.
fn measured_of_jobs(recorder: &Snapshotter) -> Vec<String> {
    let lines = measured(recorder).into_iter().filter(|line| line.contains(" retry_job_"));
    lines.map(|line| line.replace("workflow=orders,job_id=orders-1", "…")).collect()
}

#[tokio::test(start_paused = true)]
async fn a_job_is_measured_while_this_process_works_on_it() {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    retry_workflow::job::metrics::describe();

    let looks = seen.clone();
    let report = Workflow::new("orders")
        .retry(policy!(attempts = 2, initial_delay = "1s"))
        .max_parallel(1)
        .rate(["10/s", "20/m"])
        .run(0..4_u32, move |item, _| {
            let looks = looks.clone();
            async move {
                tokio::time::sleep(millis(2_500)).await;
                if item == 1 {
                    let measured = measured_of_jobs(&looks);
                    let succeeded = "counter retry_job_attempts_total{…,state=succeeded} 1";
                    assert_eq!(measured.first().map(String::as_str), Some(succeeded));
                    let used = "gauge retry_job_rate_used_ratio{…,rate=20/m} 0.1".to_owned();
                    assert!(measured.contains(&used), "{measured:#?}");
                }
                if item == 3 { Err("no address") } else { Ok(()) }
            }
        })
        .await
        .unwrap();
    assert_eq!((report.succeeded(), report.dead()), (3, 1));
    assert_eq!(
        measured_of_jobs(&seen),
        [
            "counter retry_job_attempts_total{…,state=dead} 1",
            "counter retry_job_attempts_total{…,state=pending} 1",
            "counter retry_job_attempts_total{…,state=succeeded} 2",
            "gauge retry_job_handlers{…} 0",
            "gauge retry_job_items{…,state=dead} 1",
            "gauge retry_job_items{…,state=leased} 0",
            "gauge retry_job_items{…,state=pending} 0",
            "gauge retry_job_items{…,state=skipped} 0",
            "gauge retry_job_items{…,state=succeeded} 3",
            "gauge retry_job_max_handlers{…} 0",
            "gauge retry_job_overdue_seconds{…} 0",
            "gauge retry_job_rate_used_ratio{…,rate=20/m} 0",
            "gauge retry_job_running{…} 0",
            "histogram retry_job_step_seconds{…,step_name=} 2.5 2.5 2.5 2.5",
        ]
    );
}

/// Work with steps, each of which takes a second more than the one before.
struct InSteps(usize);

impl Work for InSteps {
    async fn attempt(&self, _: WorkItem<'_>) -> AttemptReport {
        let mut report = AttemptReport::succeeded(AttemptTimer::start(), None);
        for number in 0..self.0 {
            report = report.step_time(format!("step {number:03}"), secs(number as u64));
        }
        report
    }
}

#[tokio::test(start_paused = true)]
async fn steps_of_a_job_are_measured_apart_unless_there_are_very_many() {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let took = async |steps| {
        let item = NewItem::new("1", "1");
        let report = JobRunner::new("orders").run(vec![item].into_iter(), InSteps(steps)).await;
        assert!(report.unwrap().is_success());
        let lines = measured_of_jobs(&seen);
        let prefix = "histogram retry_job_step_seconds{…,step_name=";
        lines.iter().filter_map(|line| line.strip_prefix(prefix)).map(ToOwned::to_owned).collect()
    };
    let few: Vec<String> = took(2).await;
    assert_eq!(few, ["step 000} 0", "step 001} 1", "} 0"]);
    let many: Vec<String> = took(103).await;
    assert_eq!(many.len(), 101, "{many:#?}");
    assert!(many.contains(&"other} 99 100 101 102".to_owned()), "{many:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_stuck_job_exports_the_age_of_its_next_item() {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let hanging = Workflow::new("orders")
        .max_parallel(1)
        .run(0..5_u32, |_, _| std::future::pending::<Result<(), Failure>>());
    let watching = async {
        tokio::time::sleep(secs(90)).await;
        measured_of_jobs(&seen)
    };
    let during = tokio::select! {
        _ = hanging => unreachable!("it hangs"),
        measured = watching => measured,
    };
    for line in
        ["handlers{…} 1", "items{…,state=leased} 1", "items{…,state=pending} 4", "running{…} 1"]
    {
        assert!(during.contains(&format!("gauge retry_job_{line}")), "{line}: {during:#?}");
    }
    let overdue =
        during.iter().find_map(|line| line.strip_prefix("gauge retry_job_overdue_seconds{…} "));
    let overdue: f64 = overdue.unwrap().parse().unwrap();
    assert!((88.0..=90.0).contains(&overdue), "{overdue}");
    // Once dropped, it is not working on anything.
    let after = measured_of_jobs(&seen);
    for line in ["handlers{…} 0", "overdue_seconds{…} 0", "running{…} 0"] {
        assert!(after.contains(&format!("gauge retry_job_{line}")), "{line}: {after:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_backlog_with_an_active_worker_is_not_overdue() {
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let looks = seen.clone();
    let working = Workflow::new("orders").max_parallel(2).run(0..400_u32, move |item, _| {
        let looks = looks.clone();
        async move {
            tokio::time::sleep(secs(3)).await;
            if item % 10 == 0 {
                let measured = measured_of_jobs(&looks);
                let mut lines = measured.iter();
                let overdue =
                    lines.find_map(|line| line.strip_prefix("gauge retry_job_overdue_seconds{…} "));
                let overdue: f64 = overdue.unwrap().parse().unwrap();
                assert!(overdue <= 5.0, "item {item}: {overdue} s");
            }
            Ok::<_, Failure>(())
        }
    });
    assert!(working.await.unwrap().is_success());
}

#[tokio::test(start_paused = true)]
async fn a_job_that_may_not_start_yet_is_not_overdue() {
    let early = Workflow::new("orders").not_before(secs(3_600));
    let slow = Workflow::new("orders").rate("1/h");
    for job in [early, slow] {
        let recorder = DebuggingRecorder::new();
        let seen = recorder.snapshotter();
        let _recording = metrics::set_default_local_recorder(&recorder);
        tokio::select! {
            _ = job.run(0..5_u32, |_, _| async { Ok::<_, Failure>(()) }) => unreachable!("it waits"),
            () = tokio::time::sleep(secs(1_800)) => {}
        }
        let measured = measured_of_jobs(&seen);
        let overdue = "gauge retry_job_overdue_seconds{…} 0".to_owned();
        assert!(measured.contains(&overdue), "{measured:#?}");
    }
}

#[test]
fn registered_counters_of_every_function_begin_at_zero() {
    #[retry(name = "metrics.registered")]
    fn fetch() -> Result<(), Failure> {
        Ok(())
    }
    let recorder = DebuggingRecorder::new();
    let seen = recorder.snapshotter();
    fetch().unwrap();
    metrics::with_local_recorder(&recorder, retry_runtime::metrics::register);
    let mut registered: Vec<_> = seen
        .snapshot()
        .into_vec()
        .into_iter()
        .filter(|(key, ..)| key.key().labels().any(|label| label.value() == "metrics.registered"))
        .map(|(key, _, _, value)| {
            assert_eq!(value, DebugValue::Counter(0));
            let reason = key.key().labels().find(|label| label.key() == "reason");
            let reason = reason.map(|label| label.value().to_owned());
            (key.key().name().to_owned(), reason)
        })
        .collect();
    registered.sort();
    let counters = ["attempts", "recoveries", "retries", "hedges", "hedge_wins"];
    let mut expected: Vec<_> =
        counters.map(|counter| (format!("retry_{counter}_total"), None)).to_vec();
    expected.extend(
        Reason::ALL
            .iter()
            .map(|reason| ("retry_give_ups_total".to_owned(), Some(reason.as_str().to_owned()))),
    );
    expected.sort();
    assert_eq!(registered, expected);
}
