//! A failure inside of an `Ok` is not retried; `ok(…)` says that this is meant.
#![deny(deprecated)]

use std::io;

use retry_runtime::retry;

#[derive(Debug)]
struct Elapsed;

#[derive(Debug)]
struct JoinError;

async fn get<E>() -> Result<io::Result<u64>, E> {
    Ok(Ok(7))
}

#[retry(retry_on = [when(|_| true)])]
async fn with_a_timer() -> Result<io::Result<u64>, Elapsed> {
    get().await
}

#[retry(retry_on = [when(|_| true)])]
async fn in_a_task() -> Result<io::Result<u64>, JoinError> {
    get().await
}

fn main() {}
