//! A breaker that only observes: it measures, reports what it would have done, and rejects nothing.

use std::time::Duration;

use retry_runtime::{BreakerConfig, Cause, State};
use tokio::time::advance;

use super::{FRAGILE, TIMEOUT, breaker, fail, log_of, succeed};

const OBSERVING: BreakerConfig = FRAGILE.success_threshold(1).half_open_requests(1).observe_only();

#[tokio::test(start_paused = true)]
async fn an_observing_breaker_admits_all_and_reports_would_be_rejections() {
    let breaker = breaker(OBSERVING);
    let log = log_of(&breaker);
    fail(&breaker, 1);
    assert_eq!((breaker.state(), breaker.remaining()), (State::Open, TIMEOUT));
    assert!(!breaker.is_open(), "for no call is refused");
    assert_eq!(breaker.until_admits(), Some(Duration::ZERO));
    succeed(&breaker, 3);
    fail(&breaker, 2);
    assert_eq!((breaker.state(), breaker.remaining()), (State::Open, TIMEOUT));
    let outcomes = breaker.snapshot().outcomes;
    assert_eq!((outcomes.rejected, outcomes.failures), (5, 1), "would have been refused");

    advance(TIMEOUT).await;
    let probe = breaker.try_acquire().unwrap();
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::HalfOpen, "that one was no probe");
    assert_eq!(breaker.snapshot().outcomes.rejected, 6);
    probe.success();
    assert_eq!(breaker.state(), State::Closed);

    let log = log.lock().unwrap();
    let causes: Vec<_> = log.iter().map(|transition| transition.cause).collect();
    assert_eq!(causes, [Cause::Failures, Cause::TimeUp, Cause::Recovered]);
    assert!(log.iter().all(|transition| transition.observe_only));
    assert_eq!(
        log[0].to_string(),
        "circuit breaker `db`: closed -> open (failures, observed only)"
    );
}

#[test]
fn an_observing_breaker_admits_even_if_forced_open() {
    let breaker = breaker(OBSERVING);
    breaker.force_open();
    assert_eq!(breaker.state(), State::Open);
    succeed(&breaker, 1);
    assert_eq!(breaker.snapshot().outcomes.rejected, 1);
    assert_eq!(breaker.until_admits(), Some(Duration::ZERO));
}
