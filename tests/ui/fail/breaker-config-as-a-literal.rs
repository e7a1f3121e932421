use retry_runtime::{BreakerConfig, QuotaConfig};

fn config() -> BreakerConfig {
    BreakerConfig { failure_threshold: 8, ..Default::default() }
}

fn quota() -> QuotaConfig {
    QuotaConfig { capacity: 100, ..Default::default() }
}

fn main() {}

// cured 4: BreakerConfig { failure_threshold: 8, ..Default::default() } => {}
// cured 8: QuotaConfig { capacity: 100, ..Default::default() } => {}
