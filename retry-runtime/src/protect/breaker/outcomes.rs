//! The outcomes of a breaker's calls: as a permit reports them, and how many there were.

use core::fmt;
use core::sync::atomic::AtomicU64;

use crate::base::sync::Ordering;

/// The outcome of a call, as its permit reports it.
#[derive(Clone, Copy)]
pub(super) enum Report<'a> {
    Success,
    /// With the error, if it is known.
    Failure(Option<&'a dyn fmt::Display>),
    Neither,
    /// A server has asked for a wait, for which calls are held: neither a failure nor a success.
    Held,
    /// The call was rejected further inside by a breaker that holds calls: neither, however long
    /// that took.
    HeldElsewhere,
}

/// The outcomes of the calls to a circuit breaker since it was created; each call has
/// one.
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

/// The outcomes that are counted without a lock.
#[derive(Clone, Copy)]
pub(super) enum Counted {
    Failure = 0,
    Slow = 1,
    Forgiven = 2,
    Rejected = 3,
    Held = 4,
}

impl Counted {
    /// The name in metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Slow => "slow",
            Self::Forgiven => "forgiven",
            Self::Rejected => "rejected",
            Self::Held => "held",
        }
    }
}

// Not loom's: nothing depends on the order of accesses to these.
pub(super) struct Counters([AtomicU64; 5]);

impl Counters {
    pub(super) const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 5])
    }

    pub(super) fn add(&self, counted: Counted) {
        self.0[counted as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn read(&self, successes: Option<u64>) -> Outcomes {
        let of = |counted: Counted| self.0[counted as usize].load(Ordering::Relaxed);
        Outcomes {
            successes,
            failures: of(Counted::Failure),
            slow: of(Counted::Slow),
            forgiven: of(Counted::Forgiven),
            rejected: of(Counted::Rejected),
            held: of(Counted::Held),
        }
    }
}
