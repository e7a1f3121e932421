use retry_runtime::BreakerConfig;

fn config() -> BreakerConfig {
    BreakerConfig { failure_threshold: 8, ..Default::default() }
}

fn main() {}
