//! `timeout`: bounds one attempt.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use retry_runtime::{Interrupted, Policy, Reason, Retrier, RetryError, retry};
use tokio::time::{Instant, sleep};

use crate::support::{Calls, Failure, secs};

async fn hang(calls: &Calls) {
    calls.make();
    sleep(secs(3_600)).await;
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_cut_off_and_retried() {
    #[retry(attempts = 3, timeout = "2s")]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        hang(calls).await;
        Ok(())
    }
    let (calls, start) = (Calls::new(), Instant::now());
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(2 + 1), secs(2 + 2)]);
    assert_eq!(start.elapsed(), secs(2 + 1 + 2 + 2 + 2));
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 3));
    assert!(
        matches!(error.interrupted(), Some(Interrupted::Timeout { limit, .. }) if *limit == secs(2))
    );
    assert_eq!(error.last(), None);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_ready_at_it_has_made_it() {
    #[retry(timeout = "2s")]
    async fn fetch() -> Result<u32, Failure> {
        sleep(secs(2)).await;
        Ok(7)
    }
    assert_eq!(fetch().await, Ok(7));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_in_time_succeeds_after_one_that_was_not() {
    #[retry(timeout = "2s")]
    async fn fetch(calls: &Calls) -> Result<u32, Failure> {
        if calls.make() == 1 {
            sleep(secs(60)).await;
        }
        Ok(7)
    }
    let calls = Calls::new();
    assert_eq!(fetch(&calls).await, Ok(7));
    assert_eq!(calls.gaps(), [secs(3)]);
}

#[tokio::test(start_paused = true)]
async fn a_timed_out_attempt_is_dropped_before_the_wait() {
    struct Guard<'a>(&'a AtomicBool);
    impl Drop for Guard<'_> {
        fn drop(&mut self) {
            self.0.store(false, Ordering::Relaxed);
        }
    }
    let held = AtomicBool::new(false);
    let seen = AtomicBool::new(true);
    #[retry(
        attempts = 2,
        timeout = "1s",
        on_retry = |_| seen.store(held.load(Ordering::Relaxed), Ordering::Relaxed)
    )]
    async fn fetch(held: &AtomicBool, seen: &AtomicBool) -> Result<(), Failure> {
        held.store(true, Ordering::Relaxed);
        let _guard = Guard(held);
        sleep(secs(60)).await;
        Ok(())
    }
    fetch(&held, &seen).await.unwrap_err();
    assert!(!seen.load(Ordering::Relaxed), "the attempt was alive while the call waited");
}

#[tokio::test(start_paused = true)]
async fn every_error_that_can_hold_a_timeout_has_it() {
    #[retry(attempts = 1, timeout = "2s")]
    async fn own(calls: &Calls) -> Result<(), Failure> {
        hang(calls).await;
        Ok(())
    }
    #[retry(attempts = 1, timeout = "2s")]
    async fn io(calls: &Calls) -> io::Result<()> {
        hang(calls).await;
        Ok(())
    }
    #[retry(attempts = 1, timeout = "2s")]
    async fn any(calls: &Calls) -> anyhow::Result<()> {
        hang(calls).await;
        Ok(())
    }
    #[retry(attempts = 1, timeout = "2s")]
    async fn boxed(calls: &Calls) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        hang(calls).await;
        Ok(())
    }
    #[retry(attempts = 1, timeout = "2s")]
    async fn option(calls: &Calls) -> Option<()> {
        hang(calls).await;
        Some(())
    }
    let calls = Calls::new();
    let own = own(&calls).await.unwrap_err();
    assert!(matches!(own, Failure::Interrupted(Interrupted::Timeout { .. })), "{own:?}");
    let io = io(&calls).await.unwrap_err();
    assert_eq!(io.kind(), io::ErrorKind::TimedOut);
    assert_eq!(io.to_string(), "the attempt timed out after 2s");
    let any = any(&calls).await.unwrap_err();
    assert!(any.downcast_ref::<Interrupted>().is_some());
    let boxed = boxed(&calls).await.unwrap_err();
    assert!(boxed.downcast_ref::<Interrupted>().is_some());
    assert_eq!(option(&calls).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_matched_as_one() {
    #[retry(attempts = 3, timeout = "1s", retry_on = [timeout])]
    async fn wanted(calls: &Calls) -> Result<(), RetryError<Failure>> {
        hang(calls).await;
        Ok(())
    }
    #[retry(attempts = 3, timeout = "1s", retry_on = [network])]
    async fn unwanted(calls: &Calls) -> Result<(), RetryError<Failure>> {
        hang(calls).await;
        Ok(())
    }
    #[retry(attempts = 3, timeout = "1s", abort_on = [timeout])]
    async fn refused(calls: &Calls) -> Result<(), anyhow::Error> {
        hang(calls).await;
        Ok(())
    }
    let calls = Calls::new();
    assert_eq!(wanted(&calls).await.unwrap_err().reason(), Reason::Attempts);
    assert_eq!(calls.made(), 3);
    let calls = Calls::new();
    assert_eq!(unwanted(&calls).await.unwrap_err().reason(), Reason::NotRetryable);
    assert_eq!(calls.made(), 1);
    let calls = Calls::new();
    refused(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_longest_timeout_is_none() {
    #[retry(timeout = Duration::MAX)]
    async fn fetch() -> Result<u32, Failure> {
        sleep(secs(3_600)).await;
        Ok(7)
    }
    assert_eq!(fetch().await, Ok(7));
    let retrier = Retrier::new(Policy::new().timeout(Duration::MAX).budget(Duration::MAX));
    let run = retrier.run(|| async {
        sleep(secs(3_600)).await;
        Ok::<_, Failure>(7)
    });
    assert_eq!(run.await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_cuts_off_first_where_it_is_nearer() {
    #[retry(attempts = 5, timeout = "4s", deadline = "7s")]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        hang(calls).await;
        Ok(())
    }
    let (calls, start) = (Calls::new(), Instant::now());
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!((calls.made(), start.elapsed()), (2, secs(7)));
    assert_eq!(error.reason(), Reason::Deadline);
    // The last interruption of an attempt is the timeout of the first one.
    assert!(matches!(error.interrupted(), Some(Interrupted::Timeout { .. })), "{error}");
}
