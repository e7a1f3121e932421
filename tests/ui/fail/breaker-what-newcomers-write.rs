//! A breaker without a value, and settings behind one that is shared.

use retry_runtime::{BreakerConfig, CircuitBreaker, retry};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

#[derive(Debug)]
pub enum Failure {
    Busy,
    Io(std::io::Error),
}

impl Failure {
    fn is_transient(&self) -> bool {
        matches!(self, Self::Busy | Self::Io(_))
    }
}

#[retry(breaker)]
async fn fetch_0() -> Result<u32, Failure> {
    Ok(1)
}

#[retry(breaker = DB(failure_threshold = 5))]
async fn fetch_1() -> Result<u32, Failure> {
    Ok(1)
}

fn main() {}

// remains: `timeout`, `deadline` and `breaker` can end a call
