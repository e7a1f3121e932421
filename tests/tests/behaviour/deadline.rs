//! `deadline`: bounds the whole call, the running attempt included.

use std::time::Duration;

use retry_runtime::{Backoff, Interrupted, Policy, Reason, Retrier, RetryError, policy, retry};
use tokio::time::{Instant, advance, sleep};

use crate::support::{Calls, Failure, millis, secs};

#[tokio::test(start_paused = true)]
async fn it_cuts_off_the_running_attempt() {
    #[retry(deadline = "5s")]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        calls.make();
        sleep(secs(3_600)).await;
        Ok(())
    }
    let (calls, start) = (Calls::new(), Instant::now());
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!(start.elapsed(), secs(5));
    assert_eq!((calls.made(), error.reason(), error.attempts()), (1, Reason::Deadline, 1));
    assert!(
        matches!(error.interrupted(), Some(Interrupted::Deadline { limit, .. }) if *limit == secs(5))
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_it_falls_inside_is_not_begun() {
    #[retry(attempts = 10, deadline = "6s")]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    let (calls, start) = (Calls::new(), Instant::now());
    let error = fetch(&calls).await.unwrap_err();
    // 1 + 2 s have passed, 4 more would make 7.
    assert_eq!(start.elapsed(), secs(3), "at once, without sleeping first");
    assert_eq!((error.reason(), error.waited()), (Reason::Deadline, secs(3)));
    assert_eq!(error.last(), Some(&Failure::Busy(3)));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_ends_at_it_is_beyond_it() {
    #[retry(attempts = 10, deadline = "7s")]
    async fn exactly(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    #[retry(attempts = 10, deadline = "7001ms")]
    async fn a_moment_later(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    assert_eq!(exactly(&calls).await.unwrap_err().reason(), Reason::Deadline);
    assert_eq!(calls.made(), 3);
    let calls = Calls::new();
    assert_eq!(a_moment_later(&calls).await.unwrap_err().reason(), Reason::Deadline);
    assert_eq!(calls.made(), 4);
}

#[tokio::test(start_paused = true)]
async fn time_inside_the_calls_counts() {
    #[retry(attempts = 10, backoff = fixed, deadline = "10s")]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        let call = calls.make();
        sleep(secs(4)).await;
        Err(Failure::Busy(call))
    }
    let (calls, start) = (Calls::new(), Instant::now());
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!((calls.made(), start.elapsed()), (2, secs(9)));
    assert_eq!(error.reason(), Reason::Deadline);
}

#[tokio::test(start_paused = true)]
async fn the_last_real_error_is_kept_when_a_later_attempt_is_cut_off() {
    async fn work(calls: &Calls) -> Result<(), Failure> {
        let call = calls.make();
        if call > 2 {
            sleep(secs(3_600)).await;
        }
        Err(Failure::Busy(call))
    }
    #[retry(attempts = 10, deadline = "10s")]
    async fn plain(calls: &Calls) -> Result<(), Failure> {
        work(calls).await
    }
    #[retry(attempts = 10, deadline = "10s")]
    async fn with_reason(calls: &Calls) -> Result<(), RetryError<Failure>> {
        work(calls).await
    }
    assert_eq!(plain(&Calls::new()).await, Err(Failure::Busy(2)));

    let error = with_reason(&Calls::new()).await.unwrap_err();
    assert_eq!(error.last(), Some(&Failure::Busy(2)));
    assert_eq!((error.reason(), error.attempts()), (Reason::Deadline, 3));

    let calls = Calls::new();
    let policy = Policy::new().attempts(10).deadline(secs(10));
    let error = Retrier::new(policy).run(|| work(&calls)).await.unwrap_err();
    assert_eq!(error.last(), Some(&Failure::Busy(2)));
    assert_eq!((error.reason(), error.attempts()), (Reason::Deadline, 3));
}

#[tokio::test(start_paused = true)]
async fn the_clock_starts_at_the_call_and_not_at_the_policy() {
    const SHARED: Policy = policy!(attempts = 10, deadline = "6s");
    #[retry(policy = SHARED)]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let retrier = Retrier::new(SHARED);
    for _ in 0..2 {
        advance(secs(3_600)).await;
        let calls = Calls::new();
        fetch(&calls).await.unwrap_err();
        assert_eq!(calls.made(), 3);
        let calls = Calls::new();
        let run = retrier.run(|| {
            calls.make();
            async { Err::<(), _>("down") }
        });
        run.await.unwrap_err();
        assert_eq!(calls.made(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_attempt_and_a_final_failure_have_their_own_reasons() {
    #[retry(attempts = 2, deadline = "2s", retry_on = [when(Failure::is_busy)])]
    async fn fetch(calls: &Calls, error: Failure) -> Result<(), RetryError<Failure>> {
        calls.make();
        Err(error.clone())
    }
    // After the second attempt, 1 s has passed, and 2 s more would exceed the deadline.
    let error = fetch(&Calls::new(), Failure::Busy(0)).await.unwrap_err();
    assert_eq!(error.reason(), Reason::Attempts);
    let error = fetch(&Calls::new(), Failure::Corrupt).await.unwrap_err();
    assert_eq!(error.reason(), Reason::NotRetryable);
}

#[tokio::test(start_paused = true)]
async fn the_budget_is_checked_before_the_deadline() {
    #[retry(attempts = 9, budget = "2s", deadline = "2s")]
    async fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    // After 1 s, another 2 s exceed both.
    assert_eq!(fetch().await.unwrap_err().reason(), Reason::Budget);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_ready_at_the_deadline_has_made_it() {
    #[retry(deadline = "5s")]
    async fn fetch() -> Result<u32, Failure> {
        sleep(secs(5)).await;
        Ok(7)
    }
    assert_eq!(fetch().await, Ok(7));
}

#[tokio::test(start_paused = true)]
async fn the_longest_deadline_is_none() {
    #[retry(attempts = 3, deadline = Duration::MAX)]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        sleep(secs(3_600)).await;
        Err(Failure::Busy(calls.make()))
    }
    let error = fetch(&Calls::new()).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 3));

    // The clock can represent this limit, but no timer can.
    let policy = Policy::new().deadline(secs(1 << 40)).timeout(secs(1 << 39));
    let retrier = Retrier::new(policy);
    let run = retrier.run(|| async {
        sleep(secs(1)).await;
        Ok::<_, Failure>(7)
    });
    assert_eq!(run.await.unwrap(), 7);
}

#[test]
fn a_function_that_is_not_async_looks_at_it_between_attempts() {
    #[retry(attempts = unlimited, backoff = fixed, initial_delay = "1ms", deadline = "20ms")]
    fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let (calls, start) = (Calls::new(), std::time::Instant::now());
    fetch(&calls).unwrap_err();
    assert!(calls.made() >= 1);
    assert!(start.elapsed() < secs(5), "it ends");

    let policy = Policy::new().unlimited().backoff(Backoff::Fixed).initial_delay(secs(60));
    let start = std::time::Instant::now();
    let error = Retrier::new(policy.max_delay(secs(60)).deadline(millis(5)))
        .run_sync(|| Err::<(), _>("down"))
        .unwrap_err();
    assert_eq!(error.reason(), Reason::Deadline);
    assert!(start.elapsed() < secs(5), "at once");
}
