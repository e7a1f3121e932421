use std::io;

use retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryQuota, retry};

#[retry(breaker = CircuitBreaker::new("db", BreakerConfig::new()))]
async fn fetch() -> io::Result<()> {
    Ok(())
}

#[retry(quota = RetryQuota::new("outbound", QuotaConfig::new()))]
async fn send() -> io::Result<()> {
    Ok(())
}

#[retry(breaker = retry_runtime::CircuitBreaker::new("db", retry_runtime::BreakerConfig::new()))]
async fn fetch_by_path() -> io::Result<()> {
    Ok(())
}

fn main() {}

// cured 15: retry_runtime::CircuitBreaker::new("db", retry_runtime::BreakerConfig::new()) => DB
