//! Circuit breakers, one file per library. All are closed at first, open after failures, and stay
//! open for longer than any measurement.

mod failsafe;
pub mod ours;
mod recloser;
mod seatbelt;
mod tower_resilience;

use std::fmt;
use std::hint::black_box;
use std::time::Duration;

/// Breakers that count consecutive failures open after 5 of them; the others have seen enough calls
/// by then.
const FAILURES_THAT_OPEN: u64 = 1_000;

const OPEN_FOR: Duration = Duration::from_hours(1);

/// The end of an admitted call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The call succeeded.
    Success,
    /// The call failed in a way that counts against the callee.
    Failure,
}

/// A breaker of any type.
pub struct Breaker {
    name: &'static str,
    calls: Box<dyn Fn(u64, Outcome) -> u64 + Send + Sync>,
}

impl Breaker {
    /// `caller` creates what one thread makes its calls with, which returns whether a call was
    /// admitted.
    fn new<C: FnMut(Outcome) -> bool>(
        name: &'static str,
        caller: impl Fn() -> C + Send + Sync + 'static,
    ) -> Self {
        let calls = move |calls, outcome| {
            let mut call = caller();
            (0..calls).map(|_| u64::from(call(black_box(outcome)))).sum()
        };
        Self { name, calls: Box::new(calls) }
    }

    /// The name in the table.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Makes this many calls, and returns how many were admitted.
    pub fn calls(&self, calls: u64, outcome: Outcome) -> u64 {
        (self.calls)(calls, outcome)
    }

    /// Opens the breaker.
    ///
    /// # Panics
    ///
    /// Panics if it does not open.
    #[must_use]
    pub fn opened(self) -> Self {
        self.calls(FAILURES_THAT_OPEN, Outcome::Failure);
        assert_eq!(self.calls(1, Outcome::Success), 0, "{} does not open", self.name);
        self
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breaker").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A new breaker of each kind.
pub fn all() -> Vec<Breaker> {
    vec![
        ours::by_streak(),
        ours::by_rate(),
        ours::by_key(),
        failsafe::by_streak(),
        recloser::by_rate(),
        seatbelt::by_rate(),
        tower_resilience::breaker(),
    ]
}
