//! The outcomes of a breaker's calls: as a permit reports them, and how many there were.

use core::fmt;
use core::sync::atomic::AtomicU64;

use crate::base::sync::Ordering;
use crate::event::snapshot::Outcomes;

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
