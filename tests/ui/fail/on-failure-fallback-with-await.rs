use std::io;

use retry_runtime::{BreakerConfig, CircuitBreaker, RetryError, retry};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

async fn cached(id: u64) -> u64 {
    id
}

#[retry(attempts = 2, on_failure = fallback(|_| cached(id).await))]
async fn load(id: u64) -> io::Result<u64> {
    Ok(id)
}

#[retry(attempts = 2, breaker = DB, when_open = fallback(|_| 0))]
async fn query(id: u64) -> Result<u64, RetryError<io::Error>> {
    Ok(id)
}

#[retry(attempts = 2, on_retry = |_| cached(id).await)]
async fn listened(id: u64) -> io::Result<u64> {
    Ok(id)
}

fn main() {}
