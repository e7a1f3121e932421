use retry_runtime::retry;
use retry_runtime::{BreakerConfig, CircuitBreaker};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

#[retry(breaker = DB, breaker_on = [])]
async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
