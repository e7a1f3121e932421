//! The retry quota: its guarantees, and the mistakes that others made.

mod by_calls;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use retry_runtime::{Class, QuotaConfig, RetryQuota};
use tokio::time::advance;

const DEFAULT: QuotaConfig = QuotaConfig::new();

fn quota(config: QuotaConfig) -> RetryQuota {
    RetryQuota::new("api", config)
}

#[test]
fn it_limits_without_any_setting() {
    let quota = quota(DEFAULT);
    let retries = (0..1_000).filter(|_| quota.try_acquire(Class::empty()).is_some()).count();
    assert_eq!(retries, 100);
    assert_eq!(quota.available(), 0);
}

#[test]
fn a_retry_costs_several_successes() {
    let quota = quota(DEFAULT);
    while quota.try_acquire(Class::empty()).is_some() {}
    for _ in 0..4 {
        quota.refund();
    }
    assert_eq!(quota.try_acquire(Class::empty()), None);
    quota.refund();
    assert_eq!(quota.try_acquire(Class::empty()), Some(5));

    let free = DEFAULT.success_refund(5);
    assert!(RetryQuota::try_new("api", free).is_err(), "a success may not pay for a retry");
}

#[test]
fn a_timeout_costs_more() {
    let quota = quota(DEFAULT.capacity(14));
    assert_eq!(quota.try_acquire(Class::TIMEOUT), Some(10));
    assert_eq!(quota.try_acquire(Class::TIMEOUT), None);
    assert_eq!(quota.try_acquire(Class::empty()), None, "and a refusal takes nothing");
    assert_eq!(quota.available(), 4);
}

#[test]
fn a_retry_that_succeeds_is_free() {
    let quota = quota(DEFAULT);
    for _ in 0..1_000 {
        let cost = quota.try_acquire(Class::empty()).expect("given back each time");
        quota.release(cost);
    }
    assert_eq!(quota.available(), 500);
}

#[test]
fn it_never_holds_more_than_its_capacity() {
    let quota = quota(DEFAULT.capacity(u32::MAX));
    assert!(quota.try_acquire(Class::empty()).is_some());
    quota.release(u32::MAX);
    quota.refund();
    assert_eq!(quota.available(), u32::MAX);
}

#[test]
fn a_reset_fills_it() {
    let quota = quota(DEFAULT);
    assert!(quota.try_acquire(Class::TIMEOUT).is_some());
    quota.reset();
    assert_eq!(quota.available(), 500);
}

#[test]
fn threads_share_one_bucket() {
    let (quota, retries) = (quota(DEFAULT), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    if quota.try_acquire(Class::empty()).is_some() {
                        retries.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(retries.load(Ordering::Relaxed), 100);
    assert_eq!(quota.available(), 0);
}

#[test]
fn settings_from_a_file_are_checked() {
    let invalid = RetryQuota::try_new("api", DEFAULT.capacity(1)).unwrap_err();
    assert!(invalid.to_string().contains("raise `capacity`"));
}

#[test]
fn throttling_has_a_cost_of_its_own() {
    let usual = quota(DEFAULT);
    assert_eq!(usual.try_acquire(Class::RATE_LIMIT), Some(5), "as any other, unless set");

    // The numbers of the AWS SDKs from 2026.
    let quota = quota(DEFAULT.retry_cost(14).timeout_cost(14).throttling_cost(5));
    assert_eq!(quota.try_acquire(Class::NETWORK), Some(14));
    assert_eq!(quota.try_acquire(Class::TIMEOUT), Some(14));
    assert_eq!(quota.try_acquire(Class::RATE_LIMIT), Some(5));
    assert_eq!(quota.try_acquire(Class::RATE_LIMIT.union(Class::TIMEOUT)), Some(5));
    assert_eq!(quota.available(), 500 - 14 - 14 - 5 - 5);
    for broken in [DEFAULT.throttling_cost(0), DEFAULT.throttling_cost(501)] {
        assert!(broken.validate().is_err());
    }
    assert!(DEFAULT.throttling_cost(1).validate().is_err(), "a success would pay for a retry");
}

#[tokio::test(start_paused = true)]
async fn time_fills_it_where_no_success_does() {
    let quota = quota(DEFAULT.capacity(10).refill_per_sec(0.5));
    let spent = || while quota.try_acquire(Class::empty()).is_some() {};
    spent();
    assert_eq!(quota.available(), 0);
    advance(Duration::from_millis(1_999)).await;
    assert_eq!(quota.available(), 0);
    advance(Duration::from_millis(1)).await;
    assert_eq!(quota.available(), 1);
    assert_eq!(quota.try_acquire(Class::empty()), None);
    advance(Duration::from_secs(7)).await;
    assert_eq!(quota.available(), 4, "half a token is not lost");
    advance(Duration::from_secs(1)).await;
    assert_eq!(quota.try_acquire(Class::empty()), Some(5));

    advance(Duration::from_hours(1)).await;
    assert_eq!(quota.available(), 10, "and never more than it holds");
    assert_eq!(quota.try_acquire(Class::empty()), Some(5));
    assert_eq!(quota.available(), 5, "the time of a full bucket is over");
}

#[tokio::test(start_paused = true)]
async fn frequent_reads_do_not_change_the_refill() {
    for (rate, secs, expected) in [(3.0, 100, 300), (0.1, 1_000, 100), (7.77, 50, 388)] {
        let quota = quota(DEFAULT.capacity(500).refill_per_sec(rate));
        while quota.try_acquire(Class::empty()).is_some() {}
        for _ in 0..secs * 10 {
            advance(Duration::from_millis(100)).await;
            quota.available();
        }
        let available = quota.available();
        assert!((expected - 1..=expected).contains(&available), "{available} of {expected}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_refill_time_gives_nothing() {
    let quota = quota(DEFAULT);
    while quota.try_acquire(Class::empty()).is_some() {}
    advance(Duration::from_secs(1_000_000)).await;
    assert_eq!(quota.available(), 0);
    for broken in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(DEFAULT.refill_per_sec(broken).validate().is_err());
    }
    let fast = RetryQuota::new("fast", DEFAULT.refill_per_sec(f64::MAX));
    assert!(fast.try_acquire(Class::empty()).is_some());
}
