//! Behaviour that users of other breakers rely on, according to their test suites: resilience4j's
//! windows and transitions, Polly's breaks, gobreaker's generations.

use std::time::Duration;

use retry_runtime::{BreakerConfig, Cause, State};
use tokio::time::advance;

use super::{DEFAULT, FRAGILE, MILLI, TIMEOUT, breaker, due, fail, log_of, succeed};

const SECOND: Duration = Duration::from_secs(1);
const RATE: BreakerConfig = DEFAULT.failure_rate(0.5).window_calls(10).minimum_calls(4);

#[tokio::test(start_paused = true)]
async fn a_slow_failure_counts_for_both_rates() {
    let slow = |rate, failures| RATE.slow_calls(SECOND, rate).failure_rate(failures);
    for (config, cause) in [(slow(1.0, 0.5), Cause::FailureRate), (slow(0.5, 1.0), Cause::SlowRate)]
    {
        let breaker = breaker(config);
        let log = log_of(&breaker);
        succeed(&breaker, 2);
        for _ in 0..2 {
            let call = breaker.try_acquire().unwrap();
            advance(SECOND * 2).await;
            call.failure();
        }
        assert_eq!(log.lock().unwrap()[0].cause, cause);
        let snapshot = breaker.snapshot();
        assert_eq!((snapshot.calls, snapshot.failures, snapshot.slow_calls), (4, 2, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_exactly_the_slow_time_is_not_slow() {
    let breaker = breaker(RATE.slow_calls(SECOND, 1.0).minimum_calls(1));
    let call = breaker.try_acquire().unwrap();
    advance(SECOND).await;
    call.success();
    assert_eq!(breaker.snapshot().slow_calls, 0);
    let call = breaker.try_acquire().unwrap();
    advance(SECOND + MILLI).await;
    call.success();
    assert_eq!(breaker.snapshot().slow_calls, 1);
}

#[test]
fn forgiven_calls_enter_no_window_and_no_streak() {
    let breaker = breaker(RATE.failure_threshold(3));
    fail(&breaker, 2);
    for _ in 0..100 {
        breaker.try_acquire().unwrap().forgive();
    }
    assert_eq!(breaker.snapshot().calls, 2, "the minimum is not met by them");
    assert_eq!(breaker.snapshot().consecutive_failures, 2, "and they end no streak");
    assert_eq!(breaker.state(), State::Closed);
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn an_open_time_that_is_up_moves_nothing_until_a_call_comes() {
    let breaker = due(DEFAULT).await;
    let log = log_of(&breaker);
    advance(TIMEOUT * 1_000).await;
    assert_eq!((breaker.state(), breaker.is_open()), (State::Open, false));
    assert!(log.lock().unwrap().is_empty(), "no timer runs");
    let probe = breaker.try_acquire().unwrap();
    assert_eq!(log.lock().unwrap()[0].cause, Cause::TimeUp);
    drop(probe);
}

#[tokio::test(start_paused = true)]
async fn each_opening_in_a_series_has_its_failure() {
    let breaker = breaker(FRAGILE.success_threshold(1).timeout_growth(2.0));
    let log = log_of(&breaker);
    for (number, secs) in [30, 60, 120].into_iter().enumerate() {
        breaker.try_acquire().unwrap().failure_with(&format!("failure {number}"));
        assert_eq!(breaker.remaining(), SECOND * secs);
        advance(breaker.remaining()).await;
    }
    succeed(&breaker, 1);
    let errors: Vec<_> =
        log.lock().unwrap().iter().filter_map(|transition| transition.error.clone()).collect();
    assert_eq!(
        errors.iter().map(|error| &**error).collect::<Vec<_>>(),
        ["failure 0", "failure 1", "failure 2"]
    );
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn successes_of_probes_count_in_a_row_and_one_failure_takes_them_all() {
    let breaker = due(DEFAULT.half_open_requests(5).success_threshold(3)).await;
    let probes: Vec<_> = (0..5).map(|_| breaker.try_acquire().unwrap()).collect();
    let mut probes = probes.into_iter();
    probes.next().unwrap().success();
    probes.next().unwrap().success();
    probes.next().unwrap().failure();
    probes.for_each(retry_runtime::Permit::success);
    assert_eq!(breaker.state(), State::Open, "those that report late say nothing");
    assert_eq!(breaker.snapshot().probe_successes, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_started_two_transitions_ago_does_not_count() {
    let breaker = breaker(FRAGILE.success_threshold(1).failure_threshold(2));
    let old = [breaker.try_acquire().unwrap(), breaker.try_acquire().unwrap()];
    fail(&breaker, 2);
    advance(TIMEOUT).await;
    succeed(&breaker, 1);
    fail(&breaker, 1);
    let [success, failure] = old;
    success.success();
    assert_eq!(breaker.snapshot().consecutive_failures, 1, "it ends no streak of today's");
    failure.failure();
    assert_eq!(breaker.state(), State::Closed, "and adds nothing to it");
}

#[test]
fn a_rate_is_met_where_it_is_reached_and_not_only_where_it_is_exceeded() {
    for (failures, opens) in [(4, false), (5, true)] {
        let breaker = breaker(RATE.minimum_calls(10));
        succeed(&breaker, 10 - failures);
        fail(&breaker, failures);
        assert_eq!(breaker.state() == State::Open, opens);
    }
}
