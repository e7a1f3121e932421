//! `Retrier::wait_when_open`: calls of a retrier that wait until their breaker admits them.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Interrupted, Policy, QuotaConfig, Reason, Retrier, RetryQuota,
    State,
};
use tokio::time::{Instant, timeout};

use crate::support::{Calls, Failure, secs, until_refused};

const CONFIG: BreakerConfig = BreakerConfig::new()
    .failure_threshold(1)
    .success_threshold(1)
    .half_open_requests(1)
    .timeout(secs(10));

fn open() -> Arc<CircuitBreaker> {
    let breaker = Arc::new(CircuitBreaker::named("awaited".to_owned(), CONFIG));
    breaker.try_acquire().unwrap().failure();
    breaker
}

fn patient(breaker: &Arc<CircuitBreaker>) -> Retrier {
    Retrier::new(Policy::new()).breaker(Arc::clone(breaker)).wait_when_open()
}

#[tokio::test(start_paused = true)]
async fn a_first_attempt_waits_until_the_breaker_admits_it() {
    let (breaker, start) = (open(), Instant::now());
    patient(&breaker).run(|| async { Ok::<_, Failure>(7) }).await.unwrap();
    assert_eq!((start.elapsed(), breaker.state()), (secs(10), State::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_transition_ends_the_wait_early() {
    let (breaker, start) = (open(), Instant::now());
    let retrier = patient(&breaker);
    let reset = async {
        tokio::time::sleep(secs(3)).await;
        breaker.reset();
    };
    let (result, ()) = tokio::join!(retrier.run(|| async { Ok::<_, Failure>(7) }), reset);
    assert_eq!((result.unwrap(), start.elapsed()), (7, secs(3)));
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_waits_as_well_and_keeps_its_error() {
    let breaker = Arc::new(CircuitBreaker::named("awaited".to_owned(), CONFIG));
    let (calls, start) = (Calls::new(), Instant::now());
    let result =
        patient(&breaker).run(|| async { Err::<(), _>(Failure::Busy(calls.make())) }).await;
    let error = result.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 3));
    assert_eq!((error.last(), start.elapsed()), (Some(&Failure::Busy(3)), secs(20)));
}

#[tokio::test(start_paused = true)]
async fn limits_end_the_call_before_the_wait() {
    let (breaker, start) = (open(), Instant::now());
    let policy = Policy::new().budget(secs(5));
    let retrier = Retrier::new(policy).breaker(Arc::clone(&breaker)).wait_when_open();
    let error = retrier.run(|| async { Ok::<_, Failure>(7) }).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Budget, 0));
    assert!(matches!(error.interrupted(), Some(Interrupted::CircuitOpen { .. })), "{error:?}");
    assert_eq!(start.elapsed(), Duration::ZERO);

    let once = Retrier::new(Policy::new().attempts(1)).breaker(open()).wait_when_open();
    let error = once.run(|| async { Ok::<_, Failure>(7) }).await.unwrap_err();
    assert_eq!(error.reason(), Reason::CircuitOpen, "the rejection uses up the only attempt");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_returns_the_tokens_of_its_retry() {
    let breaker = Arc::new(CircuitBreaker::named("awaited".to_owned(), CONFIG));
    let quota = Arc::new(RetryQuota::named("out".to_owned(), QuotaConfig::new().capacity(10)));
    let retrier = patient(&breaker).quota(Arc::clone(&quota));
    let call = retrier.run(|| async { Err::<(), _>(Failure::Corrupt) });
    timeout(secs(5), call).await.unwrap_err();
    assert_eq!(quota.available(), 10);
}

#[test]
fn a_blocking_call_waits_as_well() {
    let breaker = open();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| patient(&breaker).run_sync(|| Ok::<_, Failure>(7)));
        until_refused(&breaker, 1);
        breaker.reset();
        assert_eq!(waiting.join().unwrap().unwrap(), 7);
    });
    assert_eq!(breaker.state(), State::Closed);
}
