//! `Retrier`: the same sessions for closures.

use std::io;
use std::sync::Arc;

use retry_runtime::matchers::{network, pattern, timeout};
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Policy, QuotaConfig, Reason, Retrier, RetryEvent, RetryQuota,
    State,
};
use tokio::time::sleep;

use crate::support::{Calls, Failure, millis, secs};

#[tokio::test(start_paused = true)]
async fn it_calls_until_a_success() {
    let calls = Calls::new();
    let value = Retrier::new(Policy::new())
        .run(|| {
            let call = calls.make();
            async move { if call < 3 { Err(Failure::Busy(call)) } else { Ok(call) } }
        })
        .await;
    assert_eq!(value, Ok(3));
    assert_eq!(calls.gaps(), [secs(1), secs(2)]);
}

#[tokio::test(start_paused = true)]
async fn it_can_be_run_again_and_shared() {
    let retrier = Arc::new(Retrier::new(Policy::new().attempts(2)));
    let runs = (0..4).map(|_| {
        let retrier = Arc::clone(&retrier);
        tokio::spawn(async move { retrier.run(|| async { Err::<(), _>("down") }).await })
    });
    for run in runs.collect::<Vec<_>>() {
        assert_eq!(run.await.unwrap().unwrap_err().attempts(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn its_matchers_judge_like_those_of_the_attribute() {
    let any = Retrier::new(Policy::new());
    let listed = any.clone().retry_on([network, pattern("locked").unwrap()]);
    for (text, attempts) in [("connection refused", 3), ("db is locked", 3), ("corrupt", 1)] {
        let error = listed.run(|| async { Err::<(), _>(text) }).await.unwrap_err();
        assert_eq!(error.attempts(), attempts, "{text}");
        assert_eq!(error.last(), Some(&text));
    }
    let aborting = any.clone().abort_on([network]);
    let both = listed.clone().abort_on([network]);
    let refused = || async { Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionRefused)) };
    assert_eq!(aborting.run(refused).await.unwrap_err().reason(), Reason::NotRetryable);
    assert_eq!(both.run(refused).await.unwrap_err().reason(), Reason::NotRetryable);
    assert_eq!(listed.run(refused).await.unwrap_err().reason(), Reason::Attempts);
    let when = any.when(Failure::is_busy);
    assert_eq!(
        when.run(|| async { Err::<(), _>(Failure::Busy(0)) }).await.unwrap_err().attempts(),
        3
    );
    assert_eq!(
        when.run(|| async { Err::<(), _>(Failure::Corrupt) }).await.unwrap_err().attempts(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_matched_as_one() {
    let policy = Policy::new().timeout(millis(100));
    let hang = || async {
        sleep(secs(60)).await;
        Ok::<(), io::Error>(())
    };
    let wanted = Retrier::new(policy).retry_on([timeout]).run(hang).await.unwrap_err();
    assert_eq!((wanted.attempts(), wanted.interrupted().is_some()), (3, true));
    let unwanted = Retrier::new(policy).retry_on([network]).run(hang).await.unwrap_err();
    assert_eq!((unwanted.attempts(), unwanted.reason()), (1, Reason::NotRetryable));
}

#[tokio::test(start_paused = true)]
async fn it_shares_a_breaker_and_a_quota() {
    let breaker = Arc::new(CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(3)));
    let quota = Arc::new(RetryQuota::new("out", QuotaConfig::new().capacity(10)));
    let retrier = Retrier::new(Policy::new().attempts(9))
        .breaker(Arc::clone(&breaker))
        .quota(Arc::clone(&quota));
    let error = retrier.run(|| async { Err::<(), _>("down") }).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Quota, 3));
    assert_eq!((breaker.state(), quota.available()), (State::Open, 0));
    breaker.reset();
    retrier.run(|| async { Ok::<_, Failure>(()) }).await.unwrap();
    assert_eq!(quota.available(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_asks_for_the_servers_wait_and_tells_a_listener() {
    let calls = Calls::new();
    let told = std::cell::RefCell::new(Vec::new());
    let retrier = Retrier::new(Policy::new().max_delay(secs(5)))
        .retry_after(Failure::wait)
        .on_retry(|event: &RetryEvent<'_, Failure>| {
            told.borrow_mut().push((event.attempt(), event.error().cloned(), event.wait()));
        });
    let error = retrier
        .run(|| {
            let error = match calls.make() {
                1 => Failure::SlowDown(secs(60)),
                call => Failure::Busy(call),
            };
            async move { Err::<(), _>(error) }
        })
        .await
        .unwrap_err();
    assert_eq!(error.last(), Some(&Failure::Busy(3)));
    assert_eq!(calls.gaps(), [secs(60), secs(2)]);
    assert_eq!(
        *told.borrow(),
        [(1, Some(Failure::SlowDown(secs(60))), secs(60)), (2, Some(Failure::Busy(2)), secs(2)),]
    );
}

#[test]
fn its_future_can_be_sent() {
    fn is_send<T: Send>(_: T) {}
    let retrier = Retrier::new(Policy::new().deadline(secs(60)));
    is_send(retrier.run(|| async { Err::<(), _>(Failure::Corrupt) }));
}
