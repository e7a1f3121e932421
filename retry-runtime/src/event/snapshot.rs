//! [`Snapshot`]: the readable state of a breaker, and the [`Outcomes`] of its calls.

use core::time::Duration;

use crate::base::name::Name;
use crate::base::sync::Arc;
use crate::event::transition::State;

/// The state and numbers of a circuit breaker at one moment.
///
/// ```
/// use retry_runtime::{BreakerConfig, CircuitBreaker};
///
/// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
/// breaker.try_acquire().unwrap().failure();
/// assert_eq!(breaker.snapshot().consecutive_failures, 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The breaker's name.
    pub name: Name,
    /// The state, as [`CircuitBreaker::state`](crate::CircuitBreaker::state) returns it.
    pub state: State,
    /// Set if the state was forced, and so lasts until it is reset.
    pub forced: bool,
    /// Set if the state was set by [`follow`](crate::CircuitBreaker::follow).
    pub by_fleet: bool,
    /// Failures since the last success; 0 if only rates decide. Once the breaker is open,
    /// those that opened it.
    pub consecutive_failures: u32,
    /// Calls in the window; 0 if consecutive failures decide. Once the breaker is open,
    /// the calls of the window that opened it.
    pub calls: u64,
    /// Failures among `calls`.
    pub failures: u64,
    /// Slow calls among `calls`.
    pub slow_calls: u64,
    /// Probes that are running; 0 unless half-open.
    pub probes: u32,
    /// Probes that succeeded; 0 unless half-open.
    pub probe_successes: u32,
    /// The time for which the breaker stays open: zero if it is not open or its open time is over,
    /// [`Duration::MAX`] if it is open until reset.
    pub remaining: Duration,
    /// The rest of the hold of all calls, which a server has requested; zero if calls are not held.
    pub held: Duration,
    /// The number of times it has reopened since it was last closed.
    pub reopenings: u32,
    /// The text of the failure that last opened it, if known; kept after it closes again.
    pub opened_by: Option<Arc<str>>,
    /// The outcomes of calls since the breaker was created.
    pub outcomes: Outcomes,
}

/// The outcomes of the calls to a circuit breaker since it was created. Each call has one, except
/// while the breaker is forced closed: then, none is counted.
///
/// ```
/// use retry_runtime::{BreakerConfig, CircuitBreaker};
///
/// let breaker = CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(1));
/// breaker.try_acquire().unwrap().failure();
/// assert!(breaker.try_acquire().is_err());
///
/// let outcomes = breaker.snapshot().outcomes;
/// assert_eq!((outcomes.failures, outcomes.rejected), (1, 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcomes {
    /// Calls that succeeded and were not slow. `None` if consecutive failures alone decide: while
    /// nothing fails, such a breaker records nothing.
    pub successes: Option<u64>,
    /// Calls that failed.
    pub failures: u64,
    /// Calls that took longer than `slow_call`, and succeeded or were given up.
    pub slow: u64,
    /// Calls with unknown outcomes: cancelled, cut short, or never made. Not those that were slow.
    pub forgiven: u64,
    /// Calls that were rejected, or, if the breaker only observes, would have been.
    pub rejected: u64,
    /// Calls whose server has asked for a wait, for which all calls were held. Not those that were
    /// slow, and not those that count as failures.
    pub held: u64,
}
