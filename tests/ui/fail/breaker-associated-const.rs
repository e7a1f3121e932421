use retry_runtime::{BreakerConfig, CircuitBreaker, RetryError, retry};

struct Client;

impl Client {
    const BREAKER: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

    #[retry(breaker = Self::BREAKER)]
    async fn fetch(&self) -> Result<u32, RetryError<String>> {
        Ok(7)
    }
}

fn main() {}

// cured 8/1: => {}
// cured 8: Self::BREAKER => DB
