//! Callers that give up on a server that hangs: what the breaker learns of it.

use std::future::pending;
use std::io;
use std::time::Duration;

use retry_runtime::{Cause, CircuitBreaker, State, retry};
use tokio::time::{advance, timeout};

use super::{DEFAULT, MILLI, breaker, due, log_of};

const SECOND: Duration = Duration::from_secs(1);

fn slow() -> CircuitBreaker {
    breaker(DEFAULT.slow_calls(SECOND, 0.5))
}

#[retry(attempts = 3, breaker = *breaker)]
async fn hang(breaker: &CircuitBreaker) -> io::Result<()> {
    pending().await
}

#[retry(attempts = 3, deadline = "5s", breaker = *breaker)]
async fn hang_until_the_deadline(breaker: &CircuitBreaker) -> io::Result<()> {
    pending().await
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_opens_the_breaker_of_callers_with_limits_of_their_own() {
    let breaker = slow();
    for call in 1..=10 {
        assert_eq!(breaker.state(), State::Closed, "{call}");
        assert!(timeout(5 * SECOND, hang(&breaker)).await.is_err());
    }
    assert_eq!(breaker.state(), State::Open);
    let outcomes = breaker.snapshot().outcomes;
    assert_eq!((outcomes.slow, outcomes.forgiven), (10, 0));

    let breaker = slow();
    for _ in 0..10 {
        hang_until_the_deadline(&breaker).await.unwrap_err();
    }
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn callers_that_give_up_sooner_say_nothing() {
    let breaker = slow();
    for _ in 0..100 {
        assert!(timeout(SECOND / 2, hang(&breaker)).await.is_err());
    }
    assert_eq!(breaker.state(), State::Closed);
    let outcomes = breaker.snapshot().outcomes;
    assert_eq!((outcomes.slow, outcomes.forgiven), (0, 100));
    // Without `slow_calls` no time is taken of them.
    let breaker = self::breaker(DEFAULT.failure_rate(0.5));
    for _ in 0..100 {
        assert!(timeout(5 * SECOND, hang(&breaker)).await.is_err());
    }
    assert_eq!((breaker.state(), breaker.snapshot().outcomes.forgiven), (State::Closed, 100));
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_call_does_not_end_a_streak_of_failures() {
    let breaker = breaker(DEFAULT.slow_calls(SECOND, 1.0).failure_threshold(3));
    for _ in 0..2 {
        breaker.try_acquire().unwrap().failure();
    }
    let given_up = breaker.try_acquire().unwrap();
    advance(2 * SECOND).await;
    drop(given_up);
    breaker.try_acquire().unwrap().failure();
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn a_slow_abandoned_probe_reopens_the_breaker() {
    for (took, cause) in [(SECOND, None), (SECOND + MILLI, Some(Cause::ProbeSlow))] {
        let breaker = due(DEFAULT.slow_calls(SECOND, 0.5)).await;
        let probe = breaker.try_acquire().unwrap();
        let log = log_of(&breaker);
        advance(took).await;
        drop(probe);
        assert_eq!(log.lock().unwrap().last().map(|transition| transition.cause), cause);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_abandoned_after_the_limit_is_a_failure() {
    for config in [
        DEFAULT.failure_threshold(3),
        DEFAULT.failure_rate(0.5).minimum_calls(3),
        DEFAULT.failure_threshold(3).slow_calls(SECOND, 1.0),
    ] {
        let breaker = breaker(config.abandoned_after(2 * SECOND));
        let log = log_of(&breaker);
        for _ in 0..3 {
            assert_eq!(breaker.state(), State::Closed);
            assert!(timeout(2 * SECOND, hang(&breaker)).await.is_err());
        }
        assert_eq!(breaker.state(), State::Open);
        let opened = log.lock().unwrap()[0].clone();
        assert!(matches!(opened.cause, Cause::Failures | Cause::FailureRate), "{opened:?}");
        assert_eq!(opened.error.as_deref(), Some("given up by its caller after 2s"));
        assert_eq!(breaker.snapshot().outcomes.failures, 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_breaker_that_takes_the_time_counts_a_streak_all_the_same() {
    let breaker = breaker(DEFAULT.failure_threshold(3).abandoned_after(2 * SECOND));
    for _ in 0..2 {
        breaker.try_acquire().unwrap().failure();
    }
    assert_eq!(breaker.snapshot().consecutive_failures, 2);
    breaker.try_acquire().unwrap().success();
    assert_eq!(breaker.snapshot().consecutive_failures, 0);
    assert!(timeout(SECOND, hang(&breaker)).await.is_err());
    assert_eq!(breaker.snapshot().outcomes.forgiven, 1);
    breaker.restore(State::Closed, 2, Duration::ZERO);
    assert_eq!(breaker.snapshot().consecutive_failures, 2);
    breaker.try_acquire().unwrap().failure();
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn a_probe_abandoned_after_the_limit_is_a_failure() {
    for (took, cause) in [(SECOND, None), (2 * SECOND, Some(Cause::ProbeFailed))] {
        let breaker = due(DEFAULT.abandoned_after(2 * SECOND)).await;
        let probe = breaker.try_acquire().unwrap();
        let log = log_of(&breaker);
        advance(took).await;
        drop(probe);
        assert_eq!(log.lock().unwrap().last().map(|transition| transition.cause), cause);
    }
}
