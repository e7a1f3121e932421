use retry_runtime::matchers::rate_limit;
use retry_runtime::{Policy, Retrier};

fn main() {
    let _ = Retrier::new(Policy::new()).uncounted([rate_limit]);
}
