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
    const HOSTS: usize = 100;

    let config = BreakerConfig::new().failure_threshold(5).timeout(OPEN_FOR);
    let family = Arc::new(
        Breakers::<String>::try_new("bench", config, HOSTS).expect("settings that keep the rules"),
    );
    let hosts: Arc<[String]> = (0..HOSTS).map(|host| format!("host{host}.example.org")).collect();
    for host in &*hosts {
        family.of(host.as_str());
    }
    Breaker::new(BREAKER_BY_KEY, move || {
        let family = Arc::clone(&family);
        let hosts = Arc::clone(&hosts);
        let mut next = 0;
        move |outcome| {
            next = if next + 1 == HOSTS { 0 } else { next + 1 };
            call(&family.of(hosts[next].as_str()), outcome)
        }
    })
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
