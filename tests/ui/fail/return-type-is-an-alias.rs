//! An alias hides a `RetryError` from the attribute.
use std::io;

use retry_runtime::{RetryError, retry};

type ApiResult<T> = Result<T, RetryError<io::Error>>;

#[retry(attempts = 3)]
async fn read(path: &str) -> ApiResult<String> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.trim().to_owned())
}

fn main() {}
