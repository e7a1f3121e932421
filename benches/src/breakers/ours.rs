//! Ours.

use std::sync::Arc;

use retry_runtime::{BreakerConfig, CircuitBreaker};

use super::{Breaker, OPEN_FOR, Outcome};
use crate::names::{BREAKER, BREAKER_BY_RATE};

pub(super) fn by_streak() -> Breaker {
    breaker(BREAKER, BreakerConfig::new().failure_threshold(5))
}

pub(super) fn by_rate() -> Breaker {
    breaker(BREAKER_BY_RATE, BreakerConfig::new().failure_rate(0.5).window_calls(100))
}

fn breaker(name: &'static str, config: BreakerConfig) -> Breaker {
    let breaker = Arc::new(CircuitBreaker::new("bench", config.timeout(OPEN_FOR)));
    Breaker::new(name, move || {
        let breaker = Arc::clone(&breaker);
        move |outcome| match (breaker.try_acquire(), outcome) {
            (Ok(permit), Outcome::Success) => {
                permit.success();
                true
            }
            (Ok(permit), Outcome::Failure) => {
                permit.failure();
                true
            }
            (Err(_), _) => false,
        }
    })
}
