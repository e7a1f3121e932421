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

fn breaker() -> CircuitBreaker {
    CircuitBreaker::new("db", BreakerConfig::new())
}

#[retry(breaker = breaker())]
async fn fetch_by_function() -> io::Result<()> {
    Ok(())
}

fn main() {}

// cured 5/1: => {}
// cured 5/1: CircuitBreaker::new("db", BreakerConfig::new()) => DB
// cured 5/2: CircuitBreaker::new("db", BreakerConfig::new()) => DB
// cured 10/1: RetryQuota::new("outbound", QuotaConfig::new()) => OUTBOUND
// cured 10/2: => {}
// cured 10/2: RetryQuota::new("outbound", QuotaConfig::new()) => OUTBOUND
// cured 15: retry_runtime::CircuitBreaker::new("db", retry_runtime::BreakerConfig::new()) => DB
// cured 24: breaker() => DB
