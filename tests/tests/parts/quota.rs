//! The retry quota: what it promises, and the mistakes that others made.

use std::sync::atomic::{AtomicU32, Ordering};

use retry_runtime::{QuotaConfig, RetryQuota};

const DEFAULT: QuotaConfig = QuotaConfig::new();

fn quota(config: QuotaConfig) -> RetryQuota {
    RetryQuota::new("api", config)
}

#[test]
fn it_limits_without_any_setting() {
    let quota = quota(DEFAULT);
    let retries = (0..1_000).filter(|_| quota.try_acquire(false).is_some()).count();
    assert_eq!(retries, 100);
    assert_eq!(quota.available(), 0);
}

#[test]
fn a_retry_costs_several_successes() {
    let quota = quota(DEFAULT);
    while quota.try_acquire(false).is_some() {}
    for _ in 0..4 {
        quota.refund();
    }
    assert_eq!(quota.try_acquire(false), None);
    quota.refund();
    assert_eq!(quota.try_acquire(false), Some(5));

    let free = DEFAULT.success_refund(5);
    assert!(RetryQuota::try_new("api", free).is_err(), "a success may not pay for a retry");
}

#[test]
fn a_timeout_costs_more() {
    let quota = quota(DEFAULT.capacity(14));
    assert_eq!(quota.try_acquire(true), Some(10));
    assert_eq!(quota.try_acquire(true), None);
    assert_eq!(quota.try_acquire(false), None, "and a refusal takes nothing");
    assert_eq!(quota.available(), 4);
}

#[test]
fn a_retry_that_succeeds_is_free() {
    let quota = quota(DEFAULT);
    for _ in 0..1_000 {
        let cost = quota.try_acquire(false).expect("given back each time");
        quota.release(cost);
    }
    assert_eq!(quota.available(), 500);
}

#[test]
fn it_never_holds_more_than_its_capacity() {
    let quota = quota(DEFAULT.capacity(u32::MAX));
    assert!(quota.try_acquire(false).is_some());
    quota.release(u32::MAX);
    quota.refund();
    assert_eq!(quota.available(), u32::MAX);
}

#[test]
fn a_reset_fills_it() {
    let quota = quota(DEFAULT);
    assert!(quota.try_acquire(true).is_some());
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
                    if quota.try_acquire(false).is_some() {
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
