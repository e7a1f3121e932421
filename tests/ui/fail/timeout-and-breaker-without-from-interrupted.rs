use retry_runtime::retry;

use retry_runtime::CircuitBreaker;

static DB: CircuitBreaker = CircuitBreaker::new("db", retry_runtime::BreakerConfig::new());

#[retry(timeout = "2s", breaker = DB)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
