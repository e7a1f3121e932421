//! The effect of a quota on the load: a steady caller over six minutes of virtual time, with
//! trouble in the middle.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::{Policy, QuotaConfig, Retrier, RetryQuota};
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep};

const CALLS_PER_SECOND: u32 = 20;
const MINUTE: Duration = Duration::from_mins(1);
/// Attempts fail from minute 1 to minute 5 of 6.
const TROUBLE: [Duration; 2] = [Duration::from_mins(1), Duration::from_mins(5)];

#[derive(Clone, Copy)]
struct Caller {
    attempts: u32,
    /// The number of failures among a hundred attempts during the trouble.
    failing: u32,
    quota: bool,
}

#[derive(Default)]
struct Load {
    calls: Cell<u32>,
    attempts: Cell<u32>,
    succeeded: Cell<u32>,
}

impl Load {
    /// Retries as a percentage of the calls.
    fn extra(&self) -> f64 {
        100.0 * f64::from(self.attempts.get() - self.calls.get()) / f64::from(self.calls.get())
    }
}

#[derive(Default)]
struct Report {
    healthy: Load,
    /// The first minute of the trouble.
    onset: Load,
    /// The rest of the trouble.
    trouble: Load,
    /// The minute after it.
    end: Load,
    available: u32,
}

fn bump(counter: &Cell<u32>) {
    counter.set(counter.get() + 1);
}

/// Evenly spread, and the same in each run.
fn fails(caller: Caller, sequence: &Cell<u32>) -> bool {
    bump(sequence);
    sequence.get().wrapping_mul(2_654_435_761) >> 8
        < (caller.failing * ((1 << 24) / 100)) + caller.failing
}

/// Waits 100 ms, 200 ms, 400 ms, … between its attempts.
async fn call(caller: Caller, quota: &Arc<RetryQuota>, load: &Load, fails: impl Fn() -> bool) {
    let policy = Policy::new().attempts(caller.attempts).initial_delay(Duration::from_millis(100));
    let mut retrier = Retrier::new(policy);
    if caller.quota {
        retrier = retrier.quota(Arc::clone(quota));
    }
    bump(&load.calls);
    let outcome = retrier
        .run(|| {
            bump(&load.attempts);
            std::future::ready(if fails() { Err("out of order") } else { Ok(()) })
        })
        .await;
    if outcome.is_ok() {
        bump(&load.succeeded);
    }
}

async fn run(caller: Caller) -> Rc<Report> {
    let report = Rc::new(Report::default());
    let quota = Arc::new(RetryQuota::new("simulated", QuotaConfig::new()));
    let sequence = Rc::new(Cell::new(0));
    let start = Instant::now();
    let local = LocalSet::new();
    local
        .run_until(async {
            for _ in 0..CALLS_PER_SECOND * 360 {
                let shared = (Rc::clone(&report), Arc::clone(&quota), Rc::clone(&sequence));
                tokio::task::spawn_local(async move {
                    let (report, quota, sequence) = shared;
                    let began = start.elapsed();
                    let load = match began {
                        _ if began < TROUBLE[0] => &report.healthy,
                        _ if began < TROUBLE[0] + MINUTE => &report.onset,
                        _ if began < TROUBLE[1] => &report.trouble,
                        _ => &report.end,
                    };
                    call(caller, &quota, load, || {
                        let now = start.elapsed();
                        TROUBLE[0] <= now && now < TROUBLE[1] && fails(caller, &sequence)
                    })
                    .await;
                });
                sleep(Duration::from_secs(1) / CALLS_PER_SECOND).await;
            }
        })
        .await;
    local.await;
    let mut report = Rc::into_inner(report).expect("all calls are over");
    report.available = quota.available();
    println!(
        "{} attempts, {:3} % failing, quota {:5}: extra load {:6.2} % in the first minute, {:6.2} % after it; \
         {:5.1} % of the calls succeed",
        caller.attempts,
        caller.failing,
        caller.quota,
        report.onset.extra(),
        report.trouble.extra(),
        100.0 * f64::from(report.trouble.succeeded.get()) / f64::from(report.trouble.calls.get()),
    );
    Rc::new(report)
}

fn near(value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{value}, not {expected} ± {within}");
}

#[tokio::test(start_paused = true)]
async fn a_total_outage_is_not_multiplied() {
    for attempts in [3, 5] {
        let without = run(Caller { attempts, failing: 100, quota: false }).await;
        near(without.trouble.extra(), f64::from(100 * (attempts - 1)), 1.0);

        let with = run(Caller { attempts, failing: 100, quota: true }).await;
        assert_eq!(with.trouble.succeeded.get(), 0);
        assert!(with.trouble.extra() < 10.0, "{} %", with.trouble.extra());
        // A bucket of 500 pays for 100 retries, and nothing refills it.
        assert_eq!(with.onset.attempts.get() - with.onset.calls.get(), 100);
        assert_eq!(with.trouble.attempts.get(), with.trouble.calls.get());

        assert_eq!(with.end.succeeded.get(), with.end.calls.get(), "and all is well after it");
        assert_eq!(with.available, 500);
    }
}

#[tokio::test(start_paused = true)]
async fn a_healthy_caller_is_not_affected() {
    let report = run(Caller { attempts: 3, failing: 0, quota: true }).await;
    near(report.healthy.extra() + report.trouble.extra() + report.end.extra(), 0.0, 0.0);
    assert_eq!(report.available, 500);
}

#[tokio::test(start_paused = true)]
async fn one_failure_in_ten_is_retried_in_full() {
    let report = run(Caller { attempts: 3, failing: 10, quota: true }).await;
    near(report.trouble.extra(), 11.0, 1.5);
    let served = f64::from(report.trouble.succeeded.get()) / f64::from(report.trouble.calls.get());
    assert!(served > 0.995, "{served}");
}

#[tokio::test(start_paused = true)]
async fn extra_load_is_bounded_if_half_of_the_calls_fail() {
    let without = run(Caller { attempts: 3, failing: 50, quota: false }).await;
    near(without.trouble.extra(), 75.0, 5.0);

    let with = run(Caller { attempts: 3, failing: 50, quota: true }).await;
    assert!(with.trouble.extra() < without.trouble.extra() / 2.0, "{}", with.trouble.extra());
    let served = f64::from(with.trouble.succeeded.get()) / f64::from(with.trouble.calls.get());
    assert!(served > 0.5, "retries still help: {served}");
}
