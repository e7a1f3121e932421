//! A breaker's record of its calls: the number of each outcome, and the failure that opened it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::{Interrupted, Outcomes, OwnedPermit, State};
use tokio::time::advance;

use super::{DEFAULT, FRAGILE, MILLI, TIMEOUT, breaker, due, fail, log_of, succeed};

fn numbers(outcomes: Outcomes) -> (Option<u64>, [u64; 4]) {
    let Outcomes { successes, failures, slow, forgiven, rejected, .. } = outcomes;
    (successes, [failures, slow, forgiven, rejected])
}

#[tokio::test(start_paused = true)]
async fn each_call_is_counted_by_its_outcome() {
    let config = DEFAULT.failure_rate(0.5).minimum_calls(6).slow_calls(MILLI, 1.0);
    let breaker = breaker(config.success_threshold(2));
    succeed(&breaker, 3);
    let slow = breaker.try_acquire().unwrap();
    advance(MILLI * 2).await;
    slow.success();
    drop(breaker.try_acquire().unwrap());
    breaker.try_acquire().unwrap().forgive();
    fail(&breaker, 4);
    assert_eq!(breaker.state(), State::Open);
    assert!(breaker.try_acquire().is_err());
    assert_eq!(numbers(breaker.snapshot().outcomes), (Some(3), [4, 1, 2, 1]));

    advance(TIMEOUT).await;
    succeed(&breaker, 1);
    drop(breaker.try_acquire().unwrap());
    fail(&breaker, 1);
    assert_eq!(numbers(breaker.snapshot().outcomes), (Some(4), [5, 1, 3, 1]));

    advance(TIMEOUT).await;
    let slow = breaker.try_acquire().unwrap();
    advance(MILLI * 2).await;
    slow.success();
    assert_eq!(numbers(breaker.snapshot().outcomes), (Some(4), [5, 2, 3, 1]));
}

#[test]
fn a_breaker_of_consecutive_failures_does_not_count_successes() {
    let breaker = breaker(DEFAULT);
    succeed(&breaker, 3);
    fail(&breaker, 5);
    assert!(breaker.try_acquire().is_err());
    assert_eq!(numbers(breaker.snapshot().outcomes), (None, [5, 0, 0, 1]));
}

#[tokio::test(start_paused = true)]
async fn the_event_has_the_failure_that_opened_the_breaker() {
    for config in [FRAGILE, DEFAULT.failure_rate(1.0).minimum_calls(1)] {
        let breaker = breaker(config.success_threshold(1));
        let log = log_of(&breaker);
        breaker.try_acquire().unwrap().failure_with(&"connection refused");
        assert_eq!(breaker.snapshot().opened_by.as_deref(), Some("connection refused"));
        advance(TIMEOUT).await;
        breaker.try_acquire().unwrap().failure_with(&"still refused");
        assert_eq!(breaker.snapshot().opened_by.as_deref(), Some("still refused"));
        advance(TIMEOUT).await;
        succeed(&breaker, 1);
        assert_eq!(breaker.state(), State::Closed);
        assert_eq!(breaker.snapshot().opened_by.as_deref(), Some("still refused"), "the last");
        fail(&breaker, 1);
        assert_eq!(breaker.snapshot().opened_by, None, "nobody knows");
        breaker.reset();

        let log = log.lock().unwrap();
        assert!(log[0].to_string().ends_with("): connection refused"), "{}", log[0]);
        assert_eq!(log[1].error, None);
        assert_eq!(log[2].error.as_deref(), Some("still refused"));
    }
}

#[test]
fn an_error_with_a_panicking_display_still_opens_the_breaker() {
    struct Mute;

    impl fmt::Display for Mute {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            panic!("on purpose")
        }
    }

    let breaker = breaker(FRAGILE);
    breaker.try_acquire().unwrap().failure_with(&Mute);
    assert_eq!((breaker.state(), breaker.snapshot().opened_by), (State::Open, None));
}

#[test]
fn an_owned_permit_goes_where_its_breaker_cannot() {
    fn may_go<T: Send + Sync + 'static>(_: &T) {}

    let breaker = Arc::new(breaker(DEFAULT.failure_threshold(3)));
    let permits: [OwnedPermit; 4] = [(); 4].map(|()| breaker.try_acquire_owned().unwrap());
    may_go(&permits[0]);
    let [failed, explained, panicked, forgiven] = permits;
    failed.failure();
    explained.failure_with(&"refused");
    forgiven.forgive();
    drop(breaker.try_acquire_owned().unwrap());
    assert_eq!(breaker.snapshot().consecutive_failures, 2);
    let thread = std::thread::spawn(move || {
        let _permit = panicked;
        panic!("on purpose");
    });
    assert!(thread.join().is_err());
    assert_eq!(breaker.state(), State::Open);
    assert!(breaker.try_acquire_owned().is_err());
    assert_eq!(breaker.snapshot().outcomes.forgiven, 2);

    breaker.reset();
    breaker.try_acquire().unwrap().failure();
    breaker.try_acquire_owned().unwrap().success();
    assert_eq!(breaker.snapshot().consecutive_failures, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_guarded_without_a_retry() {
    let breaker = breaker(FRAGILE);
    assert_eq!(breaker.call(|| Ok::<_, io::Error>(7)).unwrap(), 7);
    let failed = breaker.call_async(async || Err::<(), _>(io::Error::other("no route"))).await;
    assert_eq!(failed.unwrap_err().to_string(), "no route");
    assert_eq!(breaker.snapshot().opened_by.as_deref(), Some("no route"));

    let rejected = breaker.call(|| -> io::Result<()> { unreachable!("it is open") }).unwrap_err();
    let inner = rejected.get_ref().and_then(|inner| inner.downcast_ref::<Interrupted>());
    assert!(matches!(inner, Some(Interrupted::CircuitOpen { .. })), "{rejected:?}");
}

#[tokio::test(start_paused = true)]
async fn until_admits_is_the_time_until_admission() {
    assert_eq!(breaker(DEFAULT).until_admits(), Some(Duration::ZERO));
    let breaker = due(DEFAULT.half_open_requests(1)).await;
    assert_eq!(breaker.until_admits(), Some(Duration::ZERO), "a probe");
    let probe = breaker.try_acquire().unwrap();
    advance(MILLI).await;
    assert_eq!(breaker.until_admits(), Some(TIMEOUT.saturating_sub(MILLI)), "while it is silent");
    assert_eq!(breaker.snapshot().outcomes.rejected, 0, "nobody has asked for a permit");
    probe.failure();
    assert_eq!(breaker.until_admits(), Some(TIMEOUT));
    breaker.force_open();
    assert_eq!(breaker.until_admits(), None);
    breaker.force_closed();
    assert_eq!(breaker.until_admits(), Some(Duration::ZERO));
}
