use retry_runtime::{BreakerConfig, CircuitBreaker, RetryError, retry};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

#[retry(breaker(DB))]
async fn shared() -> Result<u32, RetryError<String>> {
    Ok(7)
}

#[retry(breaker(BreakerConfig::new().failure_threshold(5)))]
async fn by_its_settings() -> Result<u32, RetryError<String>> {
    Ok(7)
}

struct Client {
    breaker: CircuitBreaker,
}

impl Client {
    #[retry(breaker(self.breaker))]
    async fn fetch(&self) -> Result<u32, RetryError<String>> {
        Ok(7)
    }
}

fn main() {}
