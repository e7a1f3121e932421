use retry_runtime::{BreakerConfig, CircuitBreaker};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

fn failed() {
    DB.record_failure();
}

fn main() {}
