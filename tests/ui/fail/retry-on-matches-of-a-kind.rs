//! The kind of an `io::Error` as the pattern for the error itself.
use std::io;

use retry_runtime::{RetryError, retry};

#[retry(retry_on = [timeout, matches(io::ErrorKind::NotFound)])]
async fn one() -> io::Result<()> {
    Ok(())
}

#[retry(retry_on = [matches(std::io::ErrorKind::TimedOut | std::io::ErrorKind::NotFound)])]
fn several() -> Result<(), RetryError<io::Error>> {
    Ok(())
}

#[retry(abort_on = [matches(io::ErrorKind::NotFound)], breaker, breaker_on = [matches(io::ErrorKind::TimedOut)])]
async fn elsewhere() -> io::Result<()> {
    Ok(())
}

fn main() {}
