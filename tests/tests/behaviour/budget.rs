//! `budget`: bounds the sum of the waits, not the time inside the calls.

use retry_runtime::{Reason, RetryError, retry};
use tokio::time::{Instant, sleep};

use crate::support::{Calls, Failure, secs};

#[tokio::test(start_paused = true)]
async fn a_wait_beyond_the_budget_is_not_begun() {
    #[retry(attempts = 10, budget = "5s")]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    let (calls, start) = (Calls::new(), Instant::now());
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(1), secs(2)]);
    assert_eq!((error.reason(), error.attempts(), error.waited()), (Reason::Budget, 3, secs(3)));
    assert_eq!(error.last(), Some(&Failure::Busy(3)), "the budget does not hide the error");
    assert_eq!(start.elapsed(), secs(3), "without sleeping first");
}

#[tokio::test(start_paused = true)]
async fn a_budget_met_exactly_is_within() {
    #[retry(attempts = 10, budget = "7s")]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(1), secs(2), secs(4)]);
    assert_eq!((error.reason(), error.waited()), (Reason::Budget, secs(7)));
}

#[tokio::test(start_paused = true)]
async fn time_inside_the_calls_is_not_counted() {
    #[retry(attempts = 4, budget = "7s")]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        let call = calls.make();
        sleep(secs(3_600)).await;
        Err(Failure::Busy(call))
    }
    let calls = Calls::new();
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!((calls.made(), error.reason()), (4, Reason::Attempts));
}

#[tokio::test(start_paused = true)]
async fn attempts_are_checked_before_the_budget() {
    #[retry(attempts = 2, budget = "1s")]
    async fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    // The second wait would exceed the budget too, but the attempts are checked first.
    assert_eq!(fetch().await.unwrap_err().reason(), Reason::Attempts);
}

#[tokio::test(start_paused = true)]
async fn jittered_waits_stay_within_the_budget_together() {
    #[retry(attempts = unlimited, backoff = fixed, jitter = full, budget = "60s")]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    for _ in 0..50 {
        let error = fetch(&Calls::new()).await.unwrap_err();
        assert_eq!(error.reason(), Reason::Budget);
        assert!(error.waited() <= secs(60) && error.waited() > secs(59), "{:?}", error.waited());
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_itself_comes_out() {
    #[retry(attempts = 10, budget = "2s")]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    assert_eq!(fetch(&Calls::new()).await, Err(Failure::Busy(2)));
}
