//! The state and numbers of a breaker, for people and dashboards.

use core::time::Duration;

use super::Outcomes;
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
    /// Whether the state was forced, and so lasts until it is reset.
    pub forced: bool,
    /// Whether the state was set by [`follow`](crate::CircuitBreaker::follow).
    pub by_fleet: bool,
    /// Failures since the last success; 0 if only rates decide. Once the breaker is open,
    /// those that opened it.
    pub consecutive_failures: u32,
    /// Calls in the window; 0 if consecutive failures decide. Once the breaker is open,
    /// those of the window that opened it.
    pub calls: u64,
    /// Failures among `calls`.
    pub failures: u64,
    /// Slow calls among `calls`.
    pub slow_calls: u64,
    /// Probes that are running; 0 unless half-open.
    pub probes: u32,
    /// Probes that succeeded; 0 unless half-open.
    pub probe_successes: u32,
    /// How long the breaker stays open: zero if it is not open or its open time is over,
    /// [`Duration::MAX`] if it is open until reset.
    pub remaining: Duration,
    /// How long all calls are still held, because a server has asked one of them to wait; zero if
    /// they are not.
    pub held: Duration,
    /// How often it has reopened since it was last closed.
    pub reopenings: u32,
    /// The text of the failure that last opened it, if known; kept after it closes again.
    pub opened_by: Option<Arc<str>>,
    /// The outcomes of calls since the breaker was created.
    pub outcomes: Outcomes,
}
