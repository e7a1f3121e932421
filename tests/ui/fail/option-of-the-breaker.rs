use retry_runtime::{BreakerConfig, CircuitBreaker, Policy, policy, retry};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

#[retry(attempts = 3, breaker = DB, failure_threshold = 8)]
async fn fetch() -> std::io::Result<()> {
    Ok(())
}

const HTTP: Policy = policy!(attempts = 3, failure_rate = 0.5);

fn main() {}

// cured 5: breaker = DB, failure_threshold = 8 => {}
