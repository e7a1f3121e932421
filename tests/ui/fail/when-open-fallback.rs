use retry_runtime::{BreakerConfig, CircuitBreaker, retry};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

#[retry(attempts = 3, breaker = DB, when_open = fallback(|_| 0))]
async fn load() -> Result<u32, std::io::Error> {
    Ok(7)
}

#[retry(attempts = 3, breaker = DB, when_open = continue)]
async fn count() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
