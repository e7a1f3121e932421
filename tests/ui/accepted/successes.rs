//! An `Ok` that is meant as a success, or that hides no failure, is not warned of.
#![deny(warnings)]
#![forbid(unsafe_code)]

use std::io;
use std::rc::Rc;
use std::time::Duration;

use retry_runtime::{retry, retrying};
use tokio::sync::mpsc;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

const SECOND: Duration = Duration::from_secs(1);

async fn get() -> io::Result<u64> {
    Ok(7)
}

#[retry(initial_delay = "1ms", retry_on = [when(|_| true), ok(Result::is_err)])]
async fn retried_as_well() -> Result<io::Result<u64>, Elapsed> {
    timeout(SECOND, get()).await
}

#[retry(retry_on = [timeout])]
async fn only_a_timeout() -> Result<io::Result<u64>, Elapsed> {
    timeout(SECOND, get()).await
}

#[retry(retry_on = [when(|_| true), ok(|_| false)])]
async fn silenced_by_a_matcher() -> Result<io::Result<u64>, JoinError> {
    spawn_blocking(|| Ok(7)).await
}

#[allow(deprecated)]
#[retry(retry_on = [when(|_| true)])]
async fn silenced_above() -> Result<io::Result<u64>, JoinError> {
    spawn_blocking(|| Ok(7)).await
}

/// The outer error is the one that may pass, and the inner one is for good.
#[retry(attempts = 5)]
async fn of_another_error() -> Result<Result<u64, String>, io::Error> {
    Ok(Err("no such row".to_owned()))
}

#[retry(attempts = 5)]
async fn the_inner_result() -> io::Result<u64> {
    timeout(SECOND, get()).await?
}

/// The type of the outcome follows from its use, behind the macro.
async fn inferred() -> (u64, Vec<u8>, Rc<str>) {
    let (sender, mut receiver) = mpsc::channel(1);
    sender.send(Rc::from("seven")).await.expect("room");
    let received = retrying!(name = "accepted.receive", attempts = 2, async {
        timeout(SECOND, receiver.recv()).await
    });
    let received = received.await.expect("in time").expect("a value");
    let number = retrying!(name = "accepted.parse", attempts = 2, async {
        "7".parse().map_err(|_| io::Error::other("no number"))
    });
    let number = number.await.expect("a number");
    let bytes = retrying!(name = "accepted.collect", attempts = 2, || Ok::<_, io::Error>(
        [7].into_iter().collect()
    ));
    (number, bytes.expect("bytes"), received)
}

#[tokio::test]
async fn successes_are_returned() {
    assert!(matches!(retried_as_well().await, Ok(Ok(7))));
    assert!(matches!(only_a_timeout().await, Ok(Ok(7))));
    assert!(matches!(silenced_by_a_matcher().await, Ok(Ok(7))));
    assert!(matches!(silenced_above().await, Ok(Ok(7))));
    assert!(of_another_error().await.unwrap().is_err());
    assert_eq!(the_inner_result().await.unwrap(), 7);
    assert_eq!(inferred().await, (7, vec![7], Rc::from("seven")));
}
