#![deny(deprecated)]

use retry_runtime::{CircuitBreaker, CircuitBreakerConfig};

static DB: CircuitBreaker = CircuitBreaker::new("db", CircuitBreakerConfig::new());

fn main() {}
