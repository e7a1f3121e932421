use retry_runtime::{BreakerConfig, CircuitBreaker, retry};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

#[retry(breaker = DB, breaker_on = [network, conflict])]
async fn transfer() -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
