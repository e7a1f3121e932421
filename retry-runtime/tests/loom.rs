//! Every order in which threads can meet in a breaker or a quota:
//! `RUSTFLAGS="--cfg retry_loom" cargo test -p retry-runtime --test loom --release`.
#![cfg(retry_loom)]

use std::mem::forget;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use loom::thread;
use retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryQuota, State};

fn model(f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    // Nearly all mistakes show with two (Musuvathi and Qadeer, PLDI 2007).
    builder.preemption_bound = Some(3);
    builder.check(f);
}

fn breaker(config: BreakerConfig) -> Arc<CircuitBreaker> {
    Arc::new(CircuitBreaker::new("loom", config))
}

/// Open, and its time is up.
fn due(requests: u32) -> Arc<CircuitBreaker> {
    let breaker = breaker(BreakerConfig::new().failure_threshold(1).half_open_requests(requests));
    breaker.try_acquire().unwrap().failure();
    breaker.end_open_time();
    breaker
}

/// Counts the transitions to `state`.
fn count(breaker: &CircuitBreaker, state: State) -> Arc<AtomicU32> {
    let seen = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&seen);
    breaker.on_transition(move |transition| {
        if transition.to == state {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    seen
}

fn in_threads<const N: usize, R: 'static>(
    breaker: &Arc<CircuitBreaker>,
    f: impl Fn(&CircuitBreaker) -> R + Copy + 'static,
) -> [R; N] {
    [(); N]
        .map(|()| {
            let breaker = Arc::clone(breaker);
            thread::spawn(move || f(&breaker))
        })
        .map(|thread| thread.join().unwrap())
}

#[test]
fn half_open_admits_no_more_than_its_probes() {
    for requests in [1, 2] {
        model(move || {
            let breaker = due(requests);
            let half_opened = count(&breaker, State::HalfOpen);
            let admitted: [bool; 3] =
                in_threads(&breaker, |breaker| breaker.try_acquire().map(forget).is_ok());
            let admitted = admitted.into_iter().filter(|admitted| *admitted).count();
            assert_eq!(admitted, requests as usize);
            assert_eq!(half_opened.load(Ordering::Relaxed), 1);
        });
    }
}

#[test]
fn a_dropped_permit_frees_its_slot() {
    model(|| {
        let breaker = due(1);
        let _: [(); 2] = in_threads(&breaker, |breaker| drop(breaker.try_acquire()));
        assert_eq!(breaker.snapshot().probes, 0);
        assert!(breaker.try_acquire().is_ok());
    });
}

#[test]
fn a_late_result_does_not_move_the_present_state() {
    model(|| {
        let breaker = breaker(BreakerConfig::new().failure_threshold(1));
        let other = Arc::clone(&breaker);
        let before = breaker.try_acquire().unwrap();
        let resetting = thread::spawn(move || {
            other.reset();
            other.snapshot()
        });
        before.failure();
        let snapshot = resetting.join().unwrap();
        assert_eq!(snapshot.state, State::Closed);
        assert_eq!(snapshot.consecutive_failures, 0);
        assert_eq!(breaker.state(), State::Closed);
    });
}

#[test]
fn concurrent_failures_open_once() {
    model(|| {
        let breaker = breaker(BreakerConfig::new().failure_threshold(2));
        let opened = count(&breaker, State::Open);
        let _: [(); 3] = in_threads(&breaker, |breaker| {
            if let Ok(permit) = breaker.try_acquire() {
                permit.failure();
            }
        });
        assert_eq!(breaker.state(), State::Open);
        assert_eq!(opened.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_success_and_a_failure_are_counted_in_one_order() {
    model(|| {
        let breaker = breaker(BreakerConfig::new().failure_threshold(3));
        breaker.try_acquire().unwrap().failure();
        let other = Arc::clone(&breaker);
        let success = thread::spawn(move || other.try_acquire().unwrap().success());
        breaker.try_acquire().unwrap().failure();
        success.join().unwrap();
        let failures = breaker.snapshot().consecutive_failures;
        assert!(failures <= 1, "{failures}");
        assert_eq!(breaker.state(), State::Closed);
    });
}

#[test]
fn probes_that_disagree_leave_one_verdict() {
    model(|| {
        let breaker = due(2);
        let opened = count(&breaker, State::Open);
        let other = Arc::clone(&breaker);
        let success = thread::spawn(move || {
            if let Ok(permit) = other.try_acquire() {
                permit.success();
            }
        });
        if let Ok(permit) = breaker.try_acquire() {
            permit.failure();
        }
        success.join().unwrap();
        assert_eq!(breaker.state(), State::Open);
        assert_eq!(opened.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_window_of_calls_keeps_count() {
    model(|| {
        let config = BreakerConfig::new().failure_rate(1.0).window_calls(2).minimum_calls(2);
        let breaker = breaker(config);
        // Made here, for its making is not part of the model.
        breaker.try_acquire().unwrap().failure();
        let other = Arc::clone(&breaker);
        let success = thread::spawn(move || {
            if let Ok(permit) = other.try_acquire() {
                permit.success();
            }
        });
        if let Ok(permit) = breaker.try_acquire() {
            permit.failure();
        }
        success.join().unwrap();
        let snapshot = breaker.snapshot();
        assert_eq!(snapshot.calls, 2);
        // Failure, failure, success may open it; failure, success, failure may not.
        assert!((1..=2).contains(&snapshot.failures), "{snapshot:?}");

        // Whatever happened, the counts are right: two failures fill the window.
        if snapshot.state == State::Closed {
            breaker.try_acquire().unwrap().failure();
            if let Ok(permit) = breaker.try_acquire() {
                permit.failure();
            }
            assert_eq!(breaker.state(), State::Open);
        }
    });
}

#[test]
fn a_quota_keeps_its_tokens() {
    model(|| {
        let quota = Arc::new(RetryQuota::new(
            "loom",
            QuotaConfig::new().capacity(7).retry_cost(3).timeout_cost(5),
        ));
        let threads = [false, true].map(|after_timeout| {
            let quota = Arc::clone(&quota);
            thread::spawn(move || quota.try_acquire(after_timeout).unwrap_or(0))
        });
        let third = quota.try_acquire(false).unwrap_or(0);
        assert!(quota.available() <= 7);
        let taken = threads.map(|thread| thread.join().unwrap());
        assert_eq!(quota.available() + taken[0] + taken[1] + third, 7);
    });
}

#[test]
fn a_quota_never_overflows() {
    model(|| {
        let quota = Arc::new(RetryQuota::new(
            "loom",
            QuotaConfig::new().capacity(5).retry_cost(4).timeout_cost(5),
        ));
        let cost = quota.try_acquire(false).unwrap();
        let rewarded = Arc::clone(&quota);
        let reward = thread::spawn(move || {
            rewarded.refund();
            assert!(rewarded.available() <= 5);
        });
        quota.release(cost);
        assert!(quota.available() <= 5);
        reward.join().unwrap();
        assert_eq!(quota.available(), 5);
    });
}
