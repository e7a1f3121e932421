//! Settings of breakers in failsafe, Polly and resilience4j.
#![deny(deprecated)]
use std::time::Duration;

use retry_runtime::{BreakerConfig, CircuitBreaker};

const OPEN: BreakerConfig = BreakerConfig::new().reset_timeout(Duration::from_secs(5));
const WINDOW: BreakerConfig = BreakerConfig::new().sliding_window_size(100);
const LEAST: BreakerConfig = BreakerConfig::new().minimum_number_of_calls(20);
static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new().max_failures(3));

fn main() {
    println!("{:?} {WINDOW:?}", OPEN.window(Duration::from_secs(10)));
    println!("{:?}", LEAST.half_open_max_calls(3));
}

// cured 7: reset_timeout => {}
// cured 8: sliding_window_size => {}
// cured 9: minimum_number_of_calls => {}
// cured 10: max_failures => {}
// cured 13: window => {}
// cured 14: half_open_max_calls => {}
// remains: use of deprecated method
