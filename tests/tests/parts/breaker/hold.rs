//! Holds: one call's server has asked for a wait, and all calls keep to it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_runtime::{
    BreakerConfig, Breakers, CircuitBreaker, Event, HalfOpen, Interrupted, RemoteState, State,
    on_event,
};
use tokio::time::advance;

use super::{DEFAULT, FRAGILE, MILLI, NEARLY, TIMEOUT, breaker, due, fail, log_of, succeed};

const SECOND: Duration = Duration::from_secs(1);
const MAX: Duration = Duration::from_mins(2);
const HOLDING: BreakerConfig = DEFAULT.hold(MAX);

fn limit(breaker: &CircuitBreaker, wait: Duration) {
    breaker.try_acquire().expect("admitted").rate_limited(wait);
}

#[track_caller]
fn assert_held(breaker: &CircuitBreaker, remaining: Duration) {
    let rejected = breaker.try_acquire().unwrap_err();
    assert!(rejected.is_held(), "{rejected:?}");
    assert_eq!(rejected.remaining, remaining);
    assert_eq!(breaker.until_admits(), Some(remaining));
}

#[tokio::test(start_paused = true)]
async fn all_calls_are_rejected_until_the_end_of_the_wait() {
    let breaker = breaker(HOLDING);
    let log = log_of(&breaker);
    limit(&breaker, 30 * SECOND);
    assert_eq!((breaker.state(), breaker.is_open()), (State::Closed, false));
    assert_held(&breaker, 30 * SECOND);
    assert_eq!((breaker.held_for(), breaker.snapshot().held), (30 * SECOND, 30 * SECOND));
    let rejected = breaker.try_acquire().unwrap_err();
    assert_eq!(
        rejected.to_string(),
        "circuit breaker `db` holds all calls for another 30s, as a server asked"
    );
    let Interrupted::Held { breaker: name, remaining, .. } = rejected.into() else {
        panic!("not a hold");
    };
    assert_eq!((name.as_str(), remaining), ("db", 30 * SECOND));
    advance(NEARLY).await;
    assert_held(&breaker, MILLI);
    advance(MILLI).await;
    assert_eq!(
        (breaker.held_for(), breaker.until_admits()),
        (Duration::ZERO, Some(Duration::ZERO))
    );
    succeed(&breaker, 3);
    assert!(log.lock().unwrap().is_empty(), "a hold is not a state");
    let outcomes = breaker.snapshot().outcomes;
    assert_eq!((outcomes.held, outcomes.rejected, outcomes.failures), (1, 3, 0));
}

#[tokio::test(start_paused = true)]
async fn the_longest_hold_applies_up_to_its_maximum() {
    let breaker = breaker(HOLDING);
    let in_flight = [(); 3].map(|()| breaker.try_acquire().unwrap());
    let [one, two, three] = in_flight;
    one.rate_limited(30 * SECOND);
    two.rate_limited(10 * SECOND);
    assert_held(&breaker, 30 * SECOND);
    advance(10 * SECOND).await;
    three.rate_limited(3_600 * SECOND);
    assert_held(&breaker, MAX);
    breaker.hold(SECOND);
    assert_held(&breaker, MAX);
    breaker.hold(Duration::MAX);
    assert_held(&breaker, MAX);
}

#[tokio::test(start_paused = true)]
async fn without_hold_and_without_a_wait_a_rate_limit_is_a_failure() {
    for (config, wait) in [(DEFAULT, 30 * SECOND), (HOLDING, Duration::ZERO)] {
        let breaker = breaker(config);
        limit(&breaker, wait);
        breaker.hold(wait);
        assert_eq!(breaker.snapshot().consecutive_failures, 1);
        assert_eq!((breaker.held_for(), breaker.snapshot().outcomes.held), (Duration::ZERO, 0));
        succeed(&breaker, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_that_holds_is_neither_failure_nor_success() {
    let breaker = breaker(HOLDING.failure_threshold(3));
    fail(&breaker, 2);
    limit(&breaker, SECOND);
    assert_eq!(breaker.snapshot().consecutive_failures, 2);
    advance(SECOND).await;
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);

    let breaker = self::breaker(HOLDING.failure_rate(0.5).minimum_calls(2));
    fail(&breaker, 1);
    for _ in 0..9 {
        limit(&breaker, SECOND);
        advance(SECOND).await;
    }
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.calls, snapshot.failures), (1, 1));
    assert_eq!((snapshot.outcomes.held, snapshot.outcomes.successes), (9, Some(0)));
}

#[tokio::test(start_paused = true)]
async fn a_slow_rate_limit_counts_as_slow_and_never_as_abandoned() {
    let config = HOLDING.slow_calls(2 * SECOND, 1.0).minimum_calls(1);
    let breaker = breaker(config);
    let permit = breaker.try_acquire().unwrap();
    advance(3 * SECOND).await;
    permit.rate_limited(60 * SECOND);
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state, snapshot.outcomes.slow), (State::Open, 1));
    assert_held(&breaker, 60 * SECOND);

    for config in [HOLDING, HOLDING.slow_calls(60 * SECOND, 1.0)] {
        let breaker = self::breaker(config.failure_threshold(1).abandoned_after(SECOND));
        let permit = breaker.try_acquire().unwrap();
        advance(3 * SECOND).await;
        permit.rate_limited(30 * SECOND);
        let snapshot = breaker.snapshot();
        assert_eq!((snapshot.state, snapshot.outcomes.held), (State::Closed, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_rate_limited_returns_its_slot_and_changes_no_state() {
    for config in [HOLDING, HOLDING.abandoned_after(SECOND), HOLDING.slow_calls(SECOND, 0.5)] {
        let breaker = due(config.half_open_requests(1).success_threshold(1)).await;
        let probe = breaker.try_acquire().unwrap();
        advance(3 * SECOND).await;
        probe.rate_limited(5 * SECOND);
        let snapshot = breaker.snapshot();
        assert_eq!(
            (snapshot.state, snapshot.probes, snapshot.probe_successes),
            (State::HalfOpen, 0, 0)
        );
        assert_held(&breaker, 5 * SECOND);
        advance(5 * SECOND).await;
        succeed(&breaker, 1);
        assert_eq!(breaker.state(), State::Closed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hold_lasts_through_the_stages_of_a_gradual_recovery() {
    let config = HOLDING.half_open(HalfOpen::Gradual).success_threshold(1).stage_time(SECOND);
    let breaker = due(config).await;
    succeed(&breaker, 1);
    let in_stage = breaker.try_acquire().unwrap();
    in_stage.rate_limited(10 * SECOND);
    assert_held(&breaker, 10 * SECOND);
    advance(10 * SECOND).await;
    assert_eq!(breaker.state(), State::HalfOpen, "a hold is not a success of the stage");
    succeed(&breaker, 1);
    advance(SECOND).await;
    succeed(&breaker, 1);
}

#[tokio::test(start_paused = true)]
async fn of_a_hold_and_an_open_time_the_later_end_counts() {
    let breaker = breaker(HOLDING.failure_threshold(1));
    let [limited, failed] = [(); 2].map(|()| breaker.try_acquire().unwrap());
    limited.rate_limited(60 * SECOND);
    failed.failure();
    assert_eq!((breaker.state(), breaker.is_open()), (State::Open, true));
    assert_held(&breaker, 60 * SECOND);

    let breaker = self::breaker(HOLDING.failure_threshold(1));
    let [limited, failed] = [(); 2].map(|()| breaker.try_acquire().unwrap());
    limited.rate_limited(10 * SECOND);
    failed.failure();
    let rejected = breaker.try_acquire().unwrap_err();
    assert_eq!((rejected.is_held(), rejected.remaining), (false, TIMEOUT));
    assert_eq!(breaker.until_admits(), Some(TIMEOUT));
    advance(TIMEOUT).await;
    succeed(&breaker, 3);
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn reset_and_force_end_a_hold_and_a_forced_breaker_is_not_held() {
    let end: [fn(&CircuitBreaker); 3] =
        [CircuitBreaker::reset, CircuitBreaker::force_open, CircuitBreaker::force_closed];
    for end in end {
        let breaker = breaker(HOLDING);
        let in_flight = breaker.try_acquire().unwrap();
        breaker.hold(30 * SECOND);
        end(&breaker);
        assert_eq!(breaker.held_for(), Duration::ZERO);
        let is_forced = breaker.snapshot().forced;
        in_flight.rate_limited(20 * SECOND);
        breaker.hold(20 * SECOND);
        let held = if is_forced { Duration::ZERO } else { 20 * SECOND };
        assert_eq!(breaker.held_for(), held);
        breaker.reset();
        assert_eq!(breaker.held_for(), Duration::ZERO);
        succeed(&breaker, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn restored_and_remote_states_keep_the_hold() {
    let breaker = breaker(HOLDING);
    breaker.hold(60 * SECOND);
    breaker.restore(State::Closed, 2, Duration::ZERO);
    assert_held(&breaker, 60 * SECOND);
    breaker.follow(RemoteState::Open(SECOND));
    assert_held(&breaker, 60 * SECOND);
    breaker.follow(RemoteState::Closed);
    assert_held(&breaker, 60 * SECOND);
    advance(60 * SECOND).await;
    succeed(&breaker, 1);
}

#[tokio::test(start_paused = true)]
async fn a_breaker_that_only_observes_counts_the_calls_it_would_have_held() {
    let breaker = breaker(HOLDING.observe_only());
    limit(&breaker, 30 * SECOND);
    assert_eq!(breaker.snapshot().held, 30 * SECOND);
    assert_eq!(breaker.until_admits(), Some(Duration::ZERO));
    succeed(&breaker, 2);
    fail(&breaker, 9);
    limit(&breaker, 60 * SECOND);
    assert_eq!(breaker.snapshot().held, 30 * SECOND, "that call would not have been made");
    let outcomes = breaker.snapshot().outcomes;
    assert_eq!((outcomes.rejected, outcomes.held, outcomes.failures), (12, 1, 0));
    advance(30 * SECOND).await;
    fail(&breaker, 1);
    assert_eq!(breaker.snapshot().outcomes.failures, 1);
}

#[tokio::test(start_paused = true)]
async fn a_held_member_of_a_family_is_not_evicted() {
    let family = Breakers::<u8>::try_new("tenants", HOLDING, 1).unwrap();
    family.of(&1).hold(30 * SECOND);
    family.of(&2);
    assert_eq!(family.snapshots()[0].name.key(), Some("1"));
    assert_eq!(family.of(&1).held_for(), 30 * SECOND);
    advance(30 * SECOND).await;
    family.of(&2);
    assert_eq!(family.snapshots()[0].name.key(), Some("2"), "its hold has ended without a call");
}

#[tokio::test(start_paused = true)]
async fn reports_of_calls_from_before_a_hold_still_count() {
    for config in [FRAGILE, FRAGILE.failure_rate(0.5), FRAGILE.slow_calls(SECOND, 0.5)] {
        let breaker = breaker(config.hold(MAX));
        let [limited, failed] = [(); 2].map(|()| breaker.try_acquire().unwrap());
        limited.rate_limited(10 * SECOND);
        failed.failure();
        assert_eq!(breaker.state(), State::Open);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hold_is_reported_when_it_begins_or_moves_by_more_than_a_second() {
    let breaker = CircuitBreaker::new("hold.reported", HOLDING);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let writer = Arc::clone(&seen);
    let listening = on_event(move |event| {
        if event.name() == "hold.reported"
            && let Event::Held { held, .. } = event
        {
            writer.lock().unwrap().push((*held, event.to_string()));
        }
    });
    for (after, wait, reports) in [
        (0, 10_000, 1),
        // Hints of calls in flight move the end by little.
        (100, 10_000, 1),
        (100, 10_500, 1),
        (1, 10_799, 1),
        (1, 10_799, 2),
        (1, 10_000, 2),
        (20_000, 10_000, 3),
    ] {
        advance(after * MILLI).await;
        breaker.hold(wait * MILLI);
        assert_eq!(seen.lock().unwrap().len(), reports, "{wait}");
    }
    listening.stop();
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].1, "circuit breaker `hold.reported`: holds all calls for 10s");
    assert_eq!(seen[2].0, 10 * SECOND);
}
