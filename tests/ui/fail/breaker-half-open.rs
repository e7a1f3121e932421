//! The settings of a half-open breaker.
use retry_runtime::{RetryError, retry};

#[retry(breaker(half_open = slowly))]
async fn an_unknown_way() -> Result<u32, RetryError<String>> {
    Ok(1)
}

#[retry(breaker(half_open = gradual, stage_time = "0s"))]
async fn stages_without_time() -> Result<u32, RetryError<String>> {
    Ok(1)
}

#[retry(breaker(stage_time = "3s"))]
async fn time_without_stages() -> Result<u32, RetryError<String>> {
    Ok(1)
}

#[retry(breaker(half_open_for = "0s"))]
async fn no_time_at_all() -> Result<u32, RetryError<String>> {
    Ok(1)
}

fn main() {}
