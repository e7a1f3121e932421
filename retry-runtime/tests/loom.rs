//! Every order in which threads can meet in a breaker or a quota:
//! `RUSTFLAGS="--cfg retry_loom" cargo test -p retry-runtime --test loom --release`.
#![cfg(retry_loom)]

use std::mem::forget;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use loom::thread;
use retry_runtime::{
    BreakerConfig, BreakerOrder, Breakers, CircuitBreaker, Class, QuotaConfig, RetryQuota, State,
};

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
fn a_streak_beside_a_rate_opens_once() {
    model(|| {
        let config = BreakerConfig::new().failure_threshold(2).failure_rate(1.0).minimum_calls(9);
        let breaker = breaker(config);
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
fn a_failed_probe_makes_the_open_time_grow_once() {
    model(|| {
        let config = BreakerConfig::new().failure_threshold(1).timeout_growth(2.0);
        let breaker = breaker(config.half_open_requests(2));
        breaker.try_acquire().unwrap().failure();
        breaker.end_open_time();
        let _: [(); 2] = in_threads(&breaker, |breaker| {
            if let Ok(permit) = breaker.try_acquire() {
                permit.failure();
            }
        });
        let snapshot = breaker.snapshot();
        assert_eq!((snapshot.state, snapshot.reopenings), (State::Open, 1));
        let told = snapshot.outcomes;
        assert_eq!(told.failures + told.rejected, 3, "each call is one of these");
    });
}

#[test]
fn a_family_lends_one_breaker_for_a_key_and_keeps_what_is_held() {
    model(|| {
        let config = BreakerConfig::new().failure_threshold(1);
        let family = Arc::new(Breakers::<u8>::try_new("loom", config, 1).unwrap());
        let other = Arc::clone(&family);
        let thread = thread::spawn(move || {
            let breaker = other.of(&1);
            breaker.try_acquire_owned().map(|permit| permit.failure()).is_ok()
        });
        family.of(&2);
        assert!(thread.join().unwrap(), "it was closed");
        // Open, it stays; or it was none of the family's, and 2 is there.
        let names: Vec<_> = family.snapshots().iter().map(|each| each.name.to_string()).collect();
        assert_eq!(names.len(), 1);
        let open = family.of(&1).state() == State::Open;
        assert!(open == (names[0] == "loom[1]"), "{names:?}");
    });
}

#[test]
fn a_family_of_several_shards_never_exceeds_its_capacity() {
    model(|| {
        let family = Arc::new(Breakers::<u8>::try_new("loom", BreakerConfig::new(), 2).unwrap());
        family.of(&1);
        family.of(&2);
        let other = Arc::clone(&family);
        let thread = thread::spawn(move || drop(other.of(&3)));
        family.of(&4);
        assert!(family.snapshots().len() <= 2);
        thread.join().unwrap();
        assert!(family.snapshots().len() <= 2);
    });
}

#[test]
fn threads_that_bring_the_same_key_share_its_breaker() {
    model(|| {
        let family = Arc::new(Breakers::<u8>::try_new("loom", BreakerConfig::new(), 2).unwrap());
        let other = Arc::clone(&family);
        let thread = thread::spawn(move || other.of(&1));
        let own = family.of(&1);
        family.of(&2);
        assert!(Arc::ptr_eq(&own, &thread.join().unwrap()));
    });
}

#[test]
fn a_quota_keeps_its_tokens() {
    model(|| {
        let quota = Arc::new(RetryQuota::new(
            "loom",
            QuotaConfig::new().capacity(7).retry_cost(3).timeout_cost(5),
        ));
        let threads = [Class::empty(), Class::TIMEOUT].map(|class| {
            let quota = Arc::clone(&quota);
            thread::spawn(move || quota.try_acquire(class).unwrap_or(0))
        });
        let third = quota.try_acquire(Class::empty()).unwrap_or(0);
        assert!(quota.available() <= 7);
        let taken = threads.map(|thread| thread.join().unwrap());
        assert_eq!(quota.available() + taken[0] + taken[1] + third, 7);
    });
}

#[test]
fn a_share_counts_each_call_once() {
    model(|| {
        let config = QuotaConfig::new().capacity(100).share(0.2);
        let quota = Arc::new(RetryQuota::new("loom", config));
        // One less than the ten that are free.
        for _ in 0..9 {
            assert!(quota.try_acquire(Class::empty()).is_some());
        }
        let threads = [(); 2].map(|()| {
            let quota = Arc::clone(&quota);
            thread::spawn(move || {
                quota.count_call();
                u32::from(quota.try_acquire(Class::empty()).is_some())
            })
        });
        assert_eq!(threads.map(|thread| thread.join().unwrap()).iter().sum::<u32>(), 1);
    });
}

#[test]
fn no_token_of_time_is_given_twice_or_lost() {
    model(|| {
        let config = QuotaConfig::new().capacity(20).retry_cost(5).timeout_cost(10);
        let quota = Arc::new(RetryQuota::new("loom", config.refill_per_sec(1e-6)));
        while quota.try_acquire(Class::empty()).is_some() {}
        // Three tokens, and nearly a fourth one.
        quota.age(3_900_000_000_000_000);
        let _: [(); 2] = [(); 2]
            .map(|()| {
                let quota = Arc::clone(&quota);
                thread::spawn(move || assert!(quota.available() <= 3))
            })
            .map(|thread| thread.join().unwrap());
        assert_eq!(quota.available(), 3);
        quota.age(200_000_000_000_000);
        assert_eq!(quota.available(), 4, "the part of a token was kept");
    });
}

#[test]
fn a_quota_never_overflows() {
    model(|| {
        let quota = Arc::new(RetryQuota::new(
            "loom",
            QuotaConfig::new().capacity(5).retry_cost(4).timeout_cost(5),
        ));
        let cost = quota.try_acquire(Class::empty()).unwrap();
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

#[test]
fn a_lent_probe_goes_to_one_call() {
    model(|| {
        let breaker = breaker(BreakerConfig::new().success_threshold(1));
        let minute = Duration::from_secs(60);
        breaker.follow(BreakerOrder::Open(minute));
        breaker.follow(BreakerOrder::Probe(minute));
        let admitted: [bool; 2] =
            in_threads(&breaker, |breaker| breaker.try_acquire().map(forget).is_ok());
        assert_eq!(admitted.into_iter().filter(|admitted| *admitted).count(), 1);
    });
}

#[test]
fn a_verdict_and_an_order_from_outside_leave_one_state() {
    model(|| {
        let breaker = breaker(BreakerConfig::new().failure_threshold(1));
        let closed = count(&breaker, State::Closed);
        let opened = count(&breaker, State::Open);
        let other = Arc::clone(&breaker);
        let led = thread::spawn(move || other.follow(BreakerOrder::Open(Duration::from_secs(60))));
        if let Ok(permit) = breaker.try_acquire() {
            permit.failure();
        }
        assert!(led.join().unwrap());
        assert_eq!(breaker.state(), State::Open);
        assert!(breaker.is_open(), "{:?}", breaker.remaining());
        assert_eq!((closed.load(Ordering::Relaxed), opened.load(Ordering::Relaxed)), (0, 1));
    });
}

#[test]
fn a_call_that_meets_the_first_question_still_counts() {
    model(|| {
        let breaker = breaker(BreakerConfig::new().failure_threshold(1));
        let other = Arc::clone(&breaker);
        let asking = thread::spawn(move || other.take_called());
        let permit = breaker.try_acquire().unwrap();
        permit.failure();
        asking.join().unwrap();
        assert_eq!(breaker.state(), State::Open);
        assert!(breaker.try_acquire().is_err());
        assert!(breaker.take_called(), "the refused call at least came after the question");
    });
}

#[test]
fn tokens_that_are_given_up_are_nobodys_else() {
    model(|| {
        let quota = Arc::new(RetryQuota::new("loom", QuotaConfig::new().capacity(10)));
        let other = Arc::clone(&quota);
        let giving = thread::spawn(move || other.shrink(5));
        let cost = quota.try_acquire(Class::empty()).unwrap_or(0);
        quota.refund();
        let given = giving.join().unwrap();
        assert_eq!(quota.limit(), 5);
        let left = quota.available();
        assert!(left <= 5);
        // One success gave one token back, at most.
        let known = left + given + cost;
        assert!((10..=11).contains(&known), "{left} {given} {cost}");
    });
}
