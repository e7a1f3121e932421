//! Time limits of a body that is always ready: it uses up the cooperative budget of its
//! task in each poll.

use std::future::Future;
use std::io;
use std::time::Duration;

use retry_runtime::{Interrupted, Policy, Reason, Retrier, RetryError, retry, retrying};
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, advance};

use crate::support::millis;

/// Runs until a limit cuts it off, or for longer than any test allows.
async fn busy() -> io::Result<u32> {
    for _ in 0..1_000_000 {
        consume_budget().await;
    }
    Ok(1)
}

/// The result of `call` and the virtual time that it took. The clock does not advance by itself while
/// a task is busy.
async fn timed<T>(call: impl Future<Output = T>) -> (T, Duration) {
    let start = Instant::now();
    let clock = async {
        loop {
            advance(millis(1)).await;
        }
    };
    tokio::select! {
        biased;
        result = call => (result, start.elapsed()),
        () = clock => unreachable!(),
    }
}

fn assert_cut<T: std::fmt::Debug>((result, took): (Result<T, RetryError<io::Error>>, Duration)) {
    let error = result.unwrap_err();
    assert!(error.interrupted().is_some(), "{error:?}");
    assert!((millis(50)..millis(60)).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_cuts_off_a_body_that_is_always_ready() {
    #[retry(attempts = 1, timeout = "50ms")]
    async fn fetch() -> Result<u32, RetryError<io::Error>> {
        busy().await
    }
    assert_cut(timed(fetch()).await);

    let block =
        retrying!(name = "busy.block", attempts = 1, timeout = "50ms", async { busy().await });
    let (result, took) = timed(block).await;
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::TimedOut);
    assert!(took < millis(60), "{took:?}");

    let retrier = Retrier::new(Policy::new().attempts(1).timeout(millis(50)));
    assert_cut(timed(retrier.run(busy)).await);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_cuts_off_a_body_that_is_always_ready() {
    #[retry(deadline = "50ms", initial_delay = "1ms")]
    async fn fetch() -> Result<u32, RetryError<io::Error>> {
        busy().await
    }
    let (result, took) = timed(fetch()).await;
    assert_eq!(result.as_ref().unwrap_err().reason(), Reason::Deadline);
    assert_cut((result, took));

    let policy = Policy::new().initial_delay(millis(1)).deadline(millis(50));
    #[retry(policy = policy)]
    async fn by_runtime_policy(policy: &Policy) -> Result<u32, RetryError<io::Error>> {
        busy().await
    }
    assert_cut(timed(by_runtime_policy(&policy)).await);
    assert_cut(timed(Retrier::new(policy).run(busy)).await);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_error_names_its_limit_beside_a_busy_body() {
    #[retry(attempts = 1, timeout = "50ms", hedge = "10ms")]
    async fn fetch() -> Result<u32, RetryError<io::Error>> {
        busy().await
    }
    let (result, _) = timed(fetch()).await;
    let error = result.unwrap_err();
    let Some(Interrupted::Timeout { limit, .. }) = error.interrupted() else { panic!("{error:?}") };
    assert_eq!(*limit, millis(50));
}
