//! A failure inside of an `Ok` is not retried; `ok(…)` says that this is meant.
#![deny(deprecated)]

use std::io;
use std::time::Duration;

use retry_runtime::{RetryError, retry, retrying};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

const SECOND: Duration = Duration::from_secs(1);

async fn get() -> io::Result<u64> {
    Ok(7)
}

#[retry(retry_on = [when(|_| true)])]
async fn with_a_timer() -> Result<io::Result<u64>, Elapsed> {
    let within = SECOND;
    timeout(within, get()).await
}

#[retry(attempts = 5)]
async fn in_a_task() -> Result<io::Result<u64>, JoinError> {
    spawn_blocking(|| Ok(7)).await
}

#[retry(attempts = 5)]
async fn with_the_reason() -> Result<io::Result<u64>, RetryError<Elapsed>> {
    timeout(SECOND, get()).await
}

type Timed<T> = Result<T, Elapsed>;

#[retry(attempts = 5)]
async fn by_another_name() -> Timed<io::Result<u64>> {
    timeout(SECOND, get()).await
}

#[retry(attempts = 5)]
async fn in_an_option() -> Option<io::Result<u64>> {
    Some(get().await)
}

async fn blocks() {
    let _ = retrying!(name = "a.timer", attempts = 5, async { timeout(SECOND, get()).await }).await;
    let _ = retrying!(name = "a.task", attempts = 5, retry_on = [transient], async { tokio::spawn(get()).await }).await;
}

fn main() {}
