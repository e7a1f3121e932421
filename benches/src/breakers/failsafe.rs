//! failsafe: a state machine behind a mutex.

use failsafe::{CircuitBreaker as _, Config, Error, backoff, failure_policy};

use super::{Breaker, OPEN_FOR, Outcome};
use crate::names::FAILSAFE;

pub(super) fn by_streak() -> Breaker {
    let policy = failure_policy::consecutive_failures(5, backoff::constant(OPEN_FOR));
    let breaker = Config::new().failure_policy(policy).build();
    Breaker::new(FAILSAFE, move || {
        let breaker = breaker.clone();
        move |outcome| {
            let ended = breaker.call(|| match outcome {
                Outcome::Success => Ok(()),
                Outcome::Failure => Err(()),
            });
            !matches!(ended, Err(Error::Rejected))
        }
    })
}
