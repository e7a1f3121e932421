//! The cases of `tests/ui`, each with what its messages propose in place of the mistake.
#![allow(unused, deprecated, async_fn_in_trait)]

/// The names in the examples of messages.
mod examples {
    use retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryQuota};

    pub static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    pub static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());
}

include!(concat!(env!("CURES"), "/modules.rs"));

fn main() {}
