use std::io;

use retry_runtime::{RetryError, retry};

async fn is_brief(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}

async fn report(error: RetryError<io::Error>) -> io::Error {
    error.into_error()
}

async fn log<E>(_: &retry_runtime::RetryEvent<'_, E>) {}

#[retry(attempts = 3, retry_on = [when(async |error| is_brief(error).await)])]
async fn when() -> io::Result<u32> {
    Ok(7)
}

#[retry(attempts = 3, retry_on = [when(|error| is_brief(error).await)])]
async fn when_awaits() -> io::Result<u32> {
    Ok(7)
}

#[retry(attempts = 3, map_error = |error: RetryError<io::Error>| async { report(error).await })]
async fn map_error() -> io::Result<u32> {
    Ok(7)
}

#[retry(attempts = 3, retry_after = |_| async { None })]
async fn retry_after() -> io::Result<u32> {
    Ok(7)
}

#[retry(attempts = 3, on_retry = |event| log(event).await)]
async fn on_retry() -> io::Result<u32> {
    Ok(7)
}

fn main() {}
