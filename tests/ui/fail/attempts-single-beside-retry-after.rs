use std::time::Duration;

use retry_runtime::{BreakerConfig, CircuitBreaker, RetryError, retry};

static HOLDING: CircuitBreaker =
    CircuitBreaker::new("api", BreakerConfig::new().hold(Duration::from_secs(60)));

fn wait(_: &String) -> Option<Duration> {
    None
}

#[retry(attempts = 1, retry_after = wait)]
async fn without_breaker() -> Result<u32, RetryError<String>> {
    Ok(7)
}

#[retry(attempts = 1, retry_after = wait, breaker(failure_threshold = 3))]
async fn without_hold() -> Result<u32, RetryError<String>> {
    Ok(7)
}

#[retry(attempts = 1, wait_by = |_, _: &String, wait| std::ops::ControlFlow::Continue(wait / 2), breaker = HOLDING)]
async fn of_this_call_only() -> Result<u32, RetryError<String>> {
    Ok(7)
}

fn main() {}
