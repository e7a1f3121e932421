use std::time::Duration;

use retry_runtime::{Policy, Retrier};

fn retrier() -> Retrier {
    Retrier::new(Policy::new()).attempts(5).timeout(Duration::from_secs(2))
}

fn main() {}
