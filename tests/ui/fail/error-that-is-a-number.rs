//! A number has no kind, and its text says nothing about one.
use retry_runtime::{RetryError, retry};

#[retry(retry_on = [server_error])]
async fn fetch() -> Result<u32, u16> {
    Err(503)
}

#[retry(retry_on = [transient], timeout = "1s")]
async fn load() -> Result<u32, RetryError<i32>> {
    Err(503)
}

fn main() {}
