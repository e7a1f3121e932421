use std::time::Duration;

use retry_runtime::{BreakerConfig, CircuitBreaker};

static DB: CircuitBreaker =
    CircuitBreaker::new("db", BreakerConfig::new().cooldown(Duration::from_secs(30)));

static CACHE: CircuitBreaker =
    CircuitBreaker::new("cache", BreakerConfig::new().open_timeout(Duration::from_secs(30)));

static RATE: CircuitBreaker =
    CircuitBreaker::new("rate", BreakerConfig::new().failure_rate_threshold(0.5));

static FEW: CircuitBreaker =
    CircuitBreaker::new("few", BreakerConfig::new().failure_rate(0.5).minimum_throughput(20));

static PROBES: CircuitBreaker =
    CircuitBreaker::new("probes", BreakerConfig::new().permitted_calls_in_half_open(3));

static LISTENED: CircuitBreaker =
    CircuitBreaker::new("listened", BreakerConfig::new().on_state_change(|_, _| {}));

fn trip() {
    DB.trip();
}

fn main() {}
