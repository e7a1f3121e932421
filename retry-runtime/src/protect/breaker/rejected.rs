//! The error of a breaker that does not let a call through.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use crate::base::name::Name;
use crate::outcome::interrupted::Interrupted;

/// A circuit breaker did not let a call through.
///
/// [`Snapshot::opened_by`](crate::Snapshot::opened_by) has the failure that opened it.
///
/// ```
/// use retry_runtime::{BreakerConfig, CircuitBreaker};
///
/// let breaker = CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(1));
/// breaker.try_acquire().unwrap().failure();
///
/// let rejected = breaker.try_acquire().unwrap_err();
/// assert_eq!(rejected.breaker, "db");
/// assert!(rejected.remaining.as_secs() < 30);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// The breaker's name.
    pub breaker: Name,
    /// The time for which the breaker stays open: zero while it is half-open with all probes
    /// running, [`Duration::MAX`] if it is open until reset. If calls are held for longer, the rest
    /// of the hold.
    pub remaining: Duration,
    pub(super) is_held: bool,
}

impl Rejected {
    /// Returns `true` if calls are held because a server has asked one of them to wait, and that
    /// lasts longer than the breaker stays open.
    ///
    /// ```
    /// use core::time::Duration;
    /// use retry_runtime::{BreakerConfig, CircuitBreaker};
    ///
    /// let config = BreakerConfig::new().hold(Duration::from_secs(120));
    /// let breaker = CircuitBreaker::new("api", config);
    /// breaker.try_acquire().unwrap().rate_limited(Duration::from_secs(30));
    /// assert!(breaker.try_acquire().unwrap_err().is_held());
    /// ```
    pub fn is_held(&self) -> bool {
        self.is_held
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Interrupted::from(self.clone()).fmt(f)
    }
}

impl Error for Rejected {}

impl From<Rejected> for Interrupted {
    fn from(rejected: Rejected) -> Self {
        let Rejected { breaker, remaining, is_held, .. } = rejected;
        if is_held {
            Self::Held { breaker, remaining }
        } else {
            Self::CircuitOpen { breaker, remaining }
        }
    }
}
