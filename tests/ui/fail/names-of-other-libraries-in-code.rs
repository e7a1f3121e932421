#![deny(deprecated)]
#![allow(unused_imports)]
use retry_runtime::{CircuitBreaker, CircuitBreakerConfig, ExponentialBuilder, RetryBudget, RetryPolicy};

mod prelude {
    use retry_runtime::prelude::*;

    #[retry(attempts = 3)]
    async fn load() -> std::io::Result<u32> {
        Ok(7)
    }
}

static DB: CircuitBreaker = CircuitBreaker::new("db", CircuitBreakerConfig::new());

mod strategies {
    use retry_runtime::{ExponentialBackoff, FixedInterval};
    use retry_runtime::{BackoffType, BlockingRetryable, BreakerState, CircuitBreakerError, Retry, RetryIf, circuit_breaker, retry_fn};
}

fn main() {}

// cured 3: by hand
// cured 17: by hand
// cured 18: by hand
// cured 6: use retry_runtime::prelude::*; => {}
// remains: use of deprecated type alias
