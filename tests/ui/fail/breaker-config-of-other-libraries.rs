use std::time::Duration;

use retry_runtime::{BreakerConfig, CircuitBreaker};

static DB: CircuitBreaker =
    CircuitBreaker::new("db", BreakerConfig::new().cooldown(Duration::from_secs(30)));

static CACHE: CircuitBreaker =
    CircuitBreaker::new("cache", BreakerConfig::new().open_timeout(Duration::from_secs(30)));

fn main() {}
