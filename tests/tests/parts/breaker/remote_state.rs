//! A breaker that is controlled from outside: it obeys for as long as it was told to, and then
//! decides on its own.

use std::time::Duration;

use retry_runtime::{BreakerConfig, Cause, RemoteState, State};
use tokio::time::advance;

use super::{DEFAULT, FRAGILE, TIMEOUT, breaker, fail, log_of, succeed};

const SEC: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const ONCE: BreakerConfig = FRAGILE.success_threshold(1);

#[tokio::test(start_paused = true)]
async fn a_remotely_opened_breaker_decides_alone_after_its_time() {
    let breaker = breaker(DEFAULT.success_threshold(1));
    let log = log_of(&breaker);
    assert!(breaker.follow(RemoteState::Open(MINUTE)));
    assert_eq!((breaker.state(), breaker.remaining()), (State::Open, MINUTE));
    assert!(breaker.snapshot().by_fleet);
    advance(Duration::from_secs(59)).await;
    assert!(breaker.try_acquire().is_err());
    advance(SEC).await;
    let probes: Vec<_> = (0..4).filter_map(|_| breaker.try_acquire().ok()).collect();
    assert_eq!(probes.len(), 3, "as many as its own settings say");
    assert!(!breaker.snapshot().by_fleet);
    probes.into_iter().next().unwrap().failure();
    assert_eq!(breaker.remaining(), TIMEOUT, "its own open time");
    let causes: Vec<_> = log.lock().unwrap().iter().map(|each| each.cause).collect();
    assert_eq!(causes, [Cause::Fleet, Cause::TimeUp, Cause::ProbeFailed]);
}

#[tokio::test(start_paused = true)]
async fn granted_probes_pass_one_at_a_time() {
    let breaker = breaker(DEFAULT.success_threshold(2));
    breaker.follow(RemoteState::Open(MINUTE));
    assert!(breaker.follow(RemoteState::Probe(SEC)));
    assert_eq!(breaker.state(), State::HalfOpen);
    for _ in 0..2 {
        let probe = breaker.try_acquire().expect("one goes through");
        assert!(breaker.try_acquire().is_err(), "and no other");
        probe.success();
    }
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn an_unused_granted_probe_expires() {
    let breaker = breaker(ONCE);
    breaker.follow(RemoteState::Open(MINUTE));
    breaker.follow(RemoteState::Probe(SEC));
    advance(SEC).await;
    assert!(breaker.try_acquire().is_err());
    assert_eq!((breaker.state(), breaker.remaining()), (State::Open, Duration::from_secs(59)));
    assert!(breaker.snapshot().by_fleet, "still as the fleet has told it");

    assert!(breaker.follow(RemoteState::Probe(SEC)), "and may be lent again");
    advance(SEC / 2).await;
    assert!(breaker.follow(RemoteState::Probe(SEC)), "or be renewed");
    advance(SEC / 2).await;
    let probe = breaker.try_acquire().expect("renewed");
    advance(10 * SEC).await;
    assert!(breaker.try_acquire().is_err());
    probe.success();
    assert_eq!(breaker.state(), State::Closed, "a probe that began in time may take its time");
}

#[tokio::test(start_paused = true)]
async fn an_expired_hanging_probe_admits_no_other() {
    let breaker = breaker(ONCE);
    breaker.follow(RemoteState::Open(2 * MINUTE));
    breaker.follow(RemoteState::Probe(SEC));
    let hangs = breaker.try_acquire().expect("a probe");
    advance(TIMEOUT).await;
    assert!(breaker.try_acquire().is_err());
    assert_eq!(breaker.state(), State::Open);
    hangs.success();
    assert_eq!(breaker.state(), State::Open, "it is of an earlier time");
}

#[tokio::test(start_paused = true)]
async fn after_an_unused_probe_and_the_end_of_its_open_time_it_decides_alone() {
    let breaker = breaker(ONCE);
    breaker.follow(RemoteState::Open(SEC));
    breaker.follow(RemoteState::Probe(SEC));
    advance(MINUTE).await;
    let probe = breaker.try_acquire().expect("a probe of its own");
    assert!(!breaker.snapshot().by_fleet);
    probe.success();
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_remote_close_resets_the_breaker() {
    let breaker = breaker(FRAGILE);
    fail(&breaker, 1);
    assert!(breaker.follow(RemoteState::Closed));
    assert_eq!(breaker.state(), State::Closed);
    succeed(&breaker, 1);
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open, "and opens itself again");

    let counting = super::breaker(DEFAULT.failure_threshold(2));
    fail(&counting, 1);
    counting.follow(RemoteState::Closed);
    fail(&counting, 1);
    assert_eq!(counting.state(), State::Open, "a closed one is left as it is");
}

#[tokio::test(start_paused = true)]
async fn a_forced_state_is_not_changed_remotely() {
    let breaker = breaker(FRAGILE);
    for forced in [State::Open, State::Closed] {
        match forced {
            State::Open => breaker.force_open(),
            _ => breaker.force_closed(),
        }
        for state in [RemoteState::Open(SEC), RemoteState::Probe(SEC), RemoteState::Closed] {
            assert!(!breaker.follow(state), "{state:?}");
            assert_eq!(breaker.state(), forced);
        }
    }
    breaker.reset();
    assert!(!breaker.follow(RemoteState::Probe(SEC)), "there is nothing to probe");
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn no_span_is_too_long() {
    let breaker = breaker(FRAGILE);
    breaker.follow(RemoteState::Open(Duration::MAX));
    assert!(breaker.is_open());
    breaker.follow(RemoteState::Probe(Duration::MAX));
    drop(breaker.try_acquire().expect("a probe"));
    breaker.follow(RemoteState::Open(Duration::ZERO));
    assert!(breaker.try_acquire().is_ok(), "at once its own probe");
}

#[tokio::test(start_paused = true)]
async fn a_breaker_records_calls_under_every_configuration() {
    for config in [
        DEFAULT,
        DEFAULT.failure_rate(0.5),
        DEFAULT.slow_calls(SEC, 0.5),
        DEFAULT.failure_rate(0.5).failure_threshold(3),
    ] {
        let breaker = breaker(config);
        assert!(!breaker.take_called());
        assert!(!breaker.take_called());
        let permit = breaker.try_acquire().unwrap();
        assert!(breaker.take_called(), "as soon as a call begins");
        permit.success();
        assert!(!breaker.take_called());
        breaker.force_open();
        assert!(breaker.try_acquire().is_err());
        assert!(breaker.take_called(), "a refused call is a call");
    }
}

#[tokio::test(start_paused = true)]
async fn take_called_changes_nothing_else() {
    let breaker = breaker(DEFAULT.failure_threshold(2));
    let before = breaker.try_acquire().unwrap();
    breaker.take_called();
    fail(&breaker, 1);
    before.failure();
    assert_eq!(breaker.state(), State::Open, "a call that began before counts");

    let slow = super::breaker(DEFAULT.slow_calls(SEC, 1.0).minimum_calls(1));
    let before = slow.try_acquire().unwrap();
    slow.take_called();
    advance(2 * SEC).await;
    before.success();
    assert_eq!(slow.state(), State::Open);

    let streak = super::breaker(DEFAULT);
    streak.take_called();
    fail(&streak, 4);
    succeed(&streak, 1);
    assert_eq!(streak.snapshot().consecutive_failures, 0, "a success ends the streak");
}
