//! An `Ok` that is meant as a success, or that hides no failure, is not warned of.
#![deny(warnings)]
#![forbid(unsafe_code)]

use std::io;

use retry_runtime::retry;

#[derive(Debug)]
struct Elapsed;

#[derive(Debug)]
struct JoinError;

/// Error types, whose kind can be read.
macro_rules! errors {
    ($($Error:ty)+) => {$(
        impl std::fmt::Display for $Error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("HTTP 503")
            }
        }

        impl std::error::Error for $Error {}
    )+};
}

errors!(Elapsed JoinError);

#[retry(initial_delay = "1ms", retry_on = [when(|_| true), ok(Result::is_err)])]
async fn retried_as_well() -> Result<io::Result<u64>, Elapsed> {
    Ok(Ok(7))
}

#[retry(attempts = 5)]
async fn timer_alone() -> Result<io::Result<u64>, Elapsed> {
    Ok(Ok(7))
}

#[retry(retry_on = [timeout])]
async fn only_a_timeout() -> Result<io::Result<u64>, Elapsed> {
    Ok(Ok(7))
}

#[retry(retry_on = [when(|_| true), ok(|_| false)])]
async fn silenced_by_a_matcher() -> Result<io::Result<u64>, JoinError> {
    Ok(Ok(7))
}

#[allow(deprecated)]
#[retry(retry_on = [when(|_| true)])]
async fn silenced_above() -> Result<io::Result<u64>, JoinError> {
    Ok(Ok(7))
}

#[tokio::test]
async fn successes_are_returned() {
    assert!(matches!(retried_as_well().await, Ok(Ok(7))));
    assert!(matches!(timer_alone().await, Ok(Ok(7))));
    assert!(matches!(only_a_timeout().await, Ok(Ok(7))));
    assert!(matches!(silenced_by_a_matcher().await, Ok(Ok(7))));
    assert!(matches!(silenced_above().await, Ok(Ok(7))));
}
