use retry_runtime::{BreakerConfig, QuotaConfig};

fn config() -> BreakerConfig {
    BreakerConfig { failure_threshold: 8, ..Default::default() }
}

fn quota() -> QuotaConfig {
    QuotaConfig { capacity: 100, ..Default::default() }
}

fn main() {}
