//! The breakers of `retry-runtime`.

use std::sync::Arc;

use retry_runtime::{BreakerConfig, Breakers, CircuitBreaker};

use super::{Breaker, OPEN_FOR, Outcome};
use crate::names::{BREAKER, BREAKER_BY_KEY, BREAKER_BY_RATE};

pub(super) fn by_streak() -> Breaker {
    breaker(BREAKER, BreakerConfig::new().failure_threshold(5))
}

pub(super) fn by_rate() -> Breaker {
    breaker(BREAKER_BY_RATE, BreakerConfig::new().failure_rate(0.5).window_calls(100))
}

/// The breakers of a family of a hundred hosts, each looked up by name.
pub(super) fn by_key() -> Breaker {
    by_keys(BREAKER_BY_KEY, 100)
}

/// The breakers of a family of this many hosts, each looked up by name, in an order in which the
/// processor cannot guess the next one.
pub(crate) fn by_keys(name: &'static str, keys: usize) -> Breaker {
    let hosts: Arc<[String]> = (0..keys).map(host).collect();
    let family = Arc::new(family(keys));
    let step = keys / 5 * 3 + 1;
    Breaker::new(name, move || {
        let family = Arc::clone(&family);
        let hosts = Arc::clone(&hosts);
        let mut next = 0;
        move |outcome| {
            next += step;
            if next >= hosts.len() {
                next -= hosts.len();
            }
            call(&family.of(hosts[next].as_str()), outcome)
        }
    })
}

/// A family that holds its largest number of breakers.
pub fn family(keys: usize) -> Breakers<String> {
    let config = BreakerConfig::new().failure_threshold(5).timeout(OPEN_FOR);
    let family = Breakers::new("bench", config, keys);
    for number in 0..keys {
        family.of(host(number).as_str());
    }
    family
}

/// The key of this number.
pub fn host(number: usize) -> String {
    format!("host{number}.example.org")
}

fn breaker(name: &'static str, config: BreakerConfig) -> Breaker {
    let breaker = Arc::new(CircuitBreaker::new("bench", config.timeout(OPEN_FOR)));
    Breaker::new(name, move || {
        let breaker = Arc::clone(&breaker);
        move |outcome| call(&breaker, outcome)
    })
}

/// Returns `true` if the call was admitted.
#[inline]
fn call(breaker: &CircuitBreaker, outcome: Outcome) -> bool {
    match (breaker.try_acquire(), outcome) {
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
}
