//! Settings of backon, Polly, resilience4j, p-retry and tenacity, and what is written here in place
//! of them.

use retry_runtime::retry;

#[retry(with_max_times(4), MaxRetryAttempts = 3, retry = 5)]
async fn counts() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(stop = stop_after_attempt(3), wait = wait_fixed(2), reraise = true)]
async fn tenacity() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(minTimeout = 1_000, maxTimeout = 30_000, randomize = true, factor = 1.5)]
async fn p_retry() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(BackoffType = DelayBackoffType::Exponential, UseJitter = true, Delay = "2s")]
async fn polly() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(ignore_exceptions = [Failure::Fatal], fallback_method = cached, notify = |a, b| log(a, b), attempts = 0)]
async fn closures() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(breaker(failure_rate_threshold = 50, sliding_window_size = 20, breakDuration = "30s"))]
async fn breakers() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(fallback_method = "recover", retry_if = "is_busy")]
async fn values() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(condition = when(is_busy), recover = recovered)]
async fn functions() -> std::io::Result<u32> {
    Ok(7)
}

fn main() {}

// remains: `Failure::Fatal` is not a matcher
// remains: `attempts = 1` never retries
// remains: unknown jitter
// remains: a duration needs a unit
// remains: cannot find
// remains: `on_retry` takes a function of other arguments
