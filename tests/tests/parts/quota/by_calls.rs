//! Retries as a share of the calls, beside the bucket.

use std::collections::VecDeque;
use std::future::Future as _;
use std::io::{Error, ErrorKind};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use proptest::prelude::*;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, QuotaConfig, Reason, RetryError, RetryQuota, on_event,
    retry,
};
use tokio::runtime::Builder;
use tokio::time::{Instant, advance};

/// A bucket that never matters.
const SHARE: QuotaConfig =
    QuotaConfig::new().capacity(1_000_000).refill_per_sec(100_000.0).share(0.2);

/// A window that knows when each call and each retry came.
#[derive(Default)]
struct Exact {
    calls: VecDeque<Instant>,
    retries: VecDeque<Instant>,
}

impl Exact {
    fn retry(&mut self) -> bool {
        let now = Instant::now();
        for times in [&mut self.calls, &mut self.retries] {
            while times.front().is_some_and(|at| now.duration_since(*at) >= Duration::from_secs(10))
            {
                times.pop_front();
            }
        }
        let allowed = self.retries.len() < 10.max(self.calls.len() / 5);
        if allowed {
            self.retries.push_back(now);
        }
        allowed
    }
}

/// Retries of the quota and of the exact window, and all calls, for some seconds of failing calls.
async fn outage(
    quota: &RetryQuota,
    exact: &mut Exact,
    seconds: u32,
    per_second: u32,
) -> (u32, u32, u32) {
    let (mut retries, mut meant, mut calls) = (0, 0, 0);
    for _ in 0..seconds * per_second {
        advance(Duration::from_secs(1) / per_second).await;
        quota.first_attempt_failed();
        exact.calls.push_back(Instant::now());
        calls += 1;
        retries += u32::from(quota.try_acquire(Class::empty()).is_some());
        meant += u32::from(exact.retry());
    }
    (retries, meant, calls)
}

/// Some seconds of calls that succeed.
async fn health(quota: &RetryQuota, exact: &mut Exact, seconds: u32, per_second: u32) {
    for _ in 0..seconds * per_second {
        advance(Duration::from_secs(1) / per_second).await;
        quota.refund();
        exact.calls.push_back(Instant::now());
    }
}

#[tokio::test(start_paused = true)]
async fn retries_in_an_outage_stay_within_the_share_of_calls() {
    let (quota, mut exact) = (RetryQuota::new("api", SHARE), Exact::default());
    let (retries, meant, calls) = outage(&quota, &mut exact, 60, 100).await;
    let share = f64::from(retries) / f64::from(calls);
    assert!((0.18..=0.21).contains(&share), "{share}");
    assert!(retries.abs_diff(meant) * 50 <= meant, "{retries} instead of {meant}");
}

#[tokio::test(start_paused = true)]
async fn successful_recent_calls_count_and_old_ones_do_not() {
    let (quota, mut exact) = (RetryQuota::new("api", SHARE), Exact::default());
    health(&quota, &mut exact, 100, 100).await;
    let at_once = (0..1_000).filter(|_| quota.try_acquire(Class::empty()).is_some()).count();
    assert!((180..=220).contains(&at_once), "a fifth of the calls of ten seconds: {at_once}");
    advance(Duration::from_mins(1)).await;
    let later = (0..1_000).filter(|_| quota.try_acquire(Class::empty()).is_some()).count();
    assert_eq!(later, 10, "without recent calls only the free ones are left");
}

#[tokio::test(start_paused = true)]
async fn it_is_bounded_where_traffic_falls_as_the_outage_begins() {
    let (quota, mut exact) = (RetryQuota::new("api", SHARE), Exact::default());
    health(&quota, &mut exact, 60, 1_000).await;
    let (retries, meant, _) = outage(&quota, &mut exact, 60, 100).await;
    assert!(retries * 10 <= meant * 11, "{retries} instead of {meant}");
}

#[tokio::test(start_paused = true)]
async fn the_first_seconds_of_an_outage_get_the_share_of_a_window_after_an_hour_of_calls() {
    let (quota, mut exact) = (RetryQuota::new("api", SHARE), Exact::default());
    health(&quota, &mut exact, 3_600, 10).await;
    let mut retries = 0;
    // Ten calls a second, each with up to nine retries. A window of whole seconds may end a second
    // early.
    for _ in 0..85 {
        advance(Duration::from_millis(100)).await;
        quota.first_attempt_failed();
        retries += (0..9).filter(|_| quota.try_acquire(Class::empty()).is_some()).count();
    }
    assert!((18..=22).contains(&retries), "a fifth of 100 calls: {retries}");
}

#[tokio::test(start_paused = true)]
async fn a_client_with_few_calls_has_only_the_free_retries_after_a_quiet_hour() {
    let quota = RetryQuota::new("api", SHARE);
    // Fewer calls than seconds: all of them are the remainder of the division.
    for _ in 0..1_800 {
        advance(Duration::from_secs(2)).await;
        quota.refund();
    }
    let at_once = (0..1_000).filter(|_| quota.try_acquire(Class::empty()).is_some()).count();
    assert_eq!(at_once, 10);
}

#[tokio::test(start_paused = true)]
async fn retries_that_are_not_made_leave_their_places_to_others() {
    let quota = RetryQuota::new("api", SHARE);
    let full = quota.available();
    let taken: Vec<u32> = (0..20).filter_map(|_| quota.try_acquire(Class::empty())).collect();
    assert_eq!(taken.len(), 10, "the free ones");
    for cost in &taken[..4] {
        quota.cancel(*cost);
    }
    // Those that were made and succeeded keep their places.
    for cost in &taken[4..] {
        quota.release(*cost);
    }
    quota.cancel(0);
    assert_eq!(quota.available(), full);
    let again = (0..20).filter(|_| quota.try_acquire(Class::empty()).is_some()).count();
    assert_eq!(again, 4);
}

#[tokio::test(start_paused = true)]
async fn half_of_the_retries_are_cancelled_and_the_others_get_the_whole_share() {
    let (quota, mut exact) = (RetryQuota::new("api", SHARE), Exact::default());
    health(&quota, &mut exact, 60, 100).await;
    let (mut made, mut waiting) = (0_u32, VecDeque::new());
    for nth in 0..60 * 100_u32 {
        advance(Duration::from_millis(10)).await;
        quota.first_attempt_failed();
        if let Some(cost) = quota.try_acquire(Class::empty()) {
            waiting.push_back((nth + 100, cost));
        }
        // After a wait of a second, every other one is dropped.
        while waiting.front().is_some_and(|(due, _)| *due <= nth) {
            let (_, cost) = waiting.pop_front().unwrap();
            if made % 2 == nth % 2 {
                quota.cancel(cost);
            } else {
                made += 1;
            }
        }
    }
    assert!((1_000..=1_250).contains(&made), "a fifth of 6,000 calls: {made}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_in_its_wait_returns_its_place() {
    #[retry(attempts = 2, initial_delay = "1s", quota = quota)]
    async fn fetch(quota: &RetryQuota) -> Result<(), String> {
        Err("down".to_owned())
    }

    let quota = RetryQuota::new("api", SHARE);
    let full = quota.available();
    for _ in 0..100 {
        let mut call = pin!(fetch(&quota));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert!(quota.available() < full, "it waits for a retry");
    }
    assert_eq!(quota.available(), full);
    let left = (0..100).filter(|_| quota.try_acquire(Class::empty()).is_some()).count();
    assert_eq!(left, 20, "a fifth of 100 calls");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_breaker_ends_after_its_wait_returns_its_place() {
    #[retry(attempts = 2, initial_delay = "1s", breaker = breaker, breaker_on = [timeout], quota = quota)]
    async fn fetch(breaker: &CircuitBreaker, quota: &RetryQuota) -> Result<(), RetryError<Error>> {
        Err(ErrorKind::NotFound.into())
    }

    let (breaker, quota) =
        (CircuitBreaker::new("api", BreakerConfig::new()), RetryQuota::new("api", SHARE));
    let full = quota.available();
    for _ in 0..100 {
        breaker.reset();
        let open = async {
            tokio::task::yield_now().await;
            breaker.force_open();
        };
        let (outcome, ()) = tokio::join!(fetch(&breaker, &quota), open);
        assert_eq!(outcome.unwrap_err().reason(), Reason::CircuitOpen);
    }
    assert_eq!(quota.available(), full);
    let left = (0..100).filter(|_| quota.try_acquire(Class::empty()).is_some()).count();
    assert_eq!(left, 10, "those that are free");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn with_steady_traffic_it_is_near_an_exact_window(
        per_second in 1_u32..100,
        phases in prop::collection::vec((any::<bool>(), 1_u32..15), 1..8),
    ) {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        let (retries, meant, calls) = runtime.expect("a runtime").block_on(async {
            let (quota, mut exact) = (RetryQuota::new("api", SHARE), Exact::default());
            let mut sums = (0, 0, 0);
            for (healthy, seconds) in phases {
                if healthy {
                    health(&quota, &mut exact, seconds, per_second).await;
                } else {
                    let (retries, meant, calls) =
                        outage(&quota, &mut exact, seconds, per_second).await;
                    sums = (sums.0 + retries, sums.1 + meant, sums.2 + calls);
                }
            }
            sums
        });
        // A window of whole seconds forgets up to a second sooner or later.
        let slack = 20 + meant * 15 / 100;
        prop_assert!(retries <= meant + slack, "{retries} instead of {meant} of {calls}");
        prop_assert!(retries + slack >= meant, "{retries} instead of {meant} of {calls}");
    }
}

#[tokio::test(start_paused = true)]
async fn functions_count_their_calls_by_themselves() {
    static OUT: RetryQuota = RetryQuota::new("by-calls.out", SHARE);

    static ATTEMPTS: AtomicU32 = AtomicU32::new(0);

    #[retry(attempts = 2, initial_delay = "1ms", quota = OUT)]
    async fn fetch(fails: bool) -> Result<(), String> {
        ATTEMPTS.fetch_add(1, Ordering::Relaxed);
        if fails { Err("down".to_owned()) } else { Ok(()) }
    }

    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let listening = on_event(move |event| {
        if event.name() == "by-calls.out" {
            heard.lock().unwrap().push(event.to_string());
        }
    });
    for _ in 0..150 {
        fetch(false).await.unwrap();
    }
    for _ in 0..50 {
        fetch(true).await.unwrap_err();
    }
    let retries = ATTEMPTS.load(Ordering::Relaxed) - 200;
    listening.stop();
    assert!((35..=42).contains(&retries), "a fifth of 200 calls, some of them later: {retries}");
    let told = told.lock().unwrap();
    assert_eq!(
        *told,
        [
            "retry quota `by-calls.out`: its share of the calls is reached, failed calls are not retried"
        ]
    );
}

#[test]
fn a_share_is_above_zero_and_at_most_one() {
    for share in [0.0, -0.1, 1.1, f64::NAN] {
        let invalid = RetryQuota::try_new("api", SHARE.share(share)).unwrap_err().to_string();
        assert!(invalid.contains("above 0.0 and at most 1.0"), "{invalid}");
    }
    let read: QuotaConfig = serde_json::from_str("{\"share\":0.25}").unwrap();
    assert_eq!(read.get_share(), Some(0.25));
    assert_eq!(serde_json::to_string(&read).unwrap(), "{\"share\":0.25}");
}
