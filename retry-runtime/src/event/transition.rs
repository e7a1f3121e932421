//! The states of a breaker, and the report of a change from one to another.

use core::fmt;

use crate::base::name::Name;
use crate::base::sync::Arc;

/// The state of a circuit breaker.
///
/// These are the states of the pattern, so no variant will be added: match it exhaustively.
///
/// ```
/// use retry_runtime::{BreakerConfig, CircuitBreaker, State};
///
/// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
/// assert_eq!(DB.state(), State::Closed);
/// assert_eq!(DB.state().as_str(), "closed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Calls go through, and their failures are counted.
    Closed,
    /// Calls are rejected.
    Open,
    /// A few calls go through, as probes; the others are rejected.
    HalfOpen,
}

impl State {
    /// Returns the state in one word, as events show it.
    ///
    /// ```
    /// assert_eq!(retry_runtime::State::HalfOpen.as_str(), "half_open");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The reason why a circuit breaker changed state.
///
/// ```
/// use retry_runtime::Cause;
///
/// assert_eq!(Cause::ProbeFailed.as_str(), "probe_failed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// `failure_threshold` calls failed, one after another.
    Failures,
    /// The share of failures in the window reached `failure_rate`.
    FailureRate,
    /// The share of slow calls in the window reached its rate.
    SlowRate,
    /// The open time has passed, and a call came to probe.
    TimeUp,
    /// A probe failed.
    ProbeFailed,
    /// A probe took too long, whether it succeeded or was given up.
    ProbeSlow,
    /// `success_threshold` probes succeeded.
    Recovered,
    /// `force_open` or `force_closed` was called.
    Forced,
    /// `reset` was called.
    Reset,
    /// `restore` was called.
    Restored,
    /// `follow` was called: the fleet with which it is shared changed its state.
    Fleet,
}

impl Cause {
    /// Returns the cause as events show it.
    ///
    /// ```
    /// assert_eq!(retry_runtime::Cause::FailureRate.as_str(), "failure_rate");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failures => "failures",
            Self::FailureRate => "failure_rate",
            Self::SlowRate => "slow_rate",
            Self::TimeUp => "time_up",
            Self::ProbeFailed => "probe_failed",
            Self::ProbeSlow => "probe_slow",
            Self::Recovered => "recovered",
            Self::Forced => "forced",
            Self::Reset => "reset",
            Self::Restored => "restored",
            Self::Fleet => "fleet",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A circuit breaker's change of state;
/// [`on_transition`](crate::CircuitBreaker::on_transition) receives it.
///
/// ```
/// use retry_runtime::{BreakerConfig, CircuitBreaker};
///
/// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
/// breaker.on_transition(|transition| {
///     assert_eq!(transition.to_string(), "circuit breaker `db`: closed -> open (forced)");
/// });
/// breaker.force_open();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transition {
    /// The breaker's name.
    pub breaker: Name,
    /// The old state.
    pub from: State,
    /// The new state; never the same as `from`.
    pub to: State,
    /// The reason.
    pub cause: Cause,
    /// The text of the failure that opened it, if known.
    pub error: Option<Arc<str>>,
    /// Set if the breaker only observes: calls go through in every state.
    pub observe_only: bool,
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { breaker, from, to, cause, error, observe_only } = self;
        write!(f, "circuit breaker `{breaker}`: {from} -> {to} ({cause}")?;
        f.write_str(if *observe_only { ", observed only)" } else { ")" })?;
        match error {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}
