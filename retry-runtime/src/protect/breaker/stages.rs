//! The stages of a gradual half-open state: which calls they admit, and when they end.

use core::time::Duration;

use crate::base::clock;
use crate::protect::stamp;

/// The shares of the calls that are admitted, in percent.
const SHARES: [u64; 4] = [1, 5, 25, 50];

/// 2⁶⁴ divided by the golden ratio: the multiples of it are spread evenly however many there are.
/// Source: Knuth, "The Art of Computer Programming", volume 3, 6.4 (Fibonacci hashing).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is known of the stage that the breaker is in.
pub(super) struct Stages {
    stage: usize,
    /// How many calls have come in this stage.
    arrivals: u64,
    /// How many of those that were admitted have succeeded.
    successes: u32,
    /// The end of the least time of the stage, as a [`stamp`].
    until: u64,
}

impl Stages {
    pub(super) const fn new() -> Self {
        Self { stage: 0, arrivals: 0, successes: 0, until: 0 }
    }

    /// The first stage begins.
    pub(super) fn begin(&mut self, length: Duration) {
        *self = Self::new();
        self.until = end_of(length);
    }

    /// Whether a call is admitted that comes now, or `None` if the last stage is over.
    ///
    /// No randomness is needed: the calls that are admitted are evenly spread, and the first of each
    /// stage is one of them.
    pub(super) fn admit(&mut self, length: Duration) -> Option<bool> {
        if self.successes > 0 && stamp::nanos() >= self.until {
            self.stage += 1;
            (self.arrivals, self.successes) = (0, 0);
            self.until = end_of(length);
        }
        let share = SHARES.get(self.stage)?;
        let place = self.arrivals.wrapping_mul(GOLDEN);
        self.arrivals = self.arrivals.wrapping_add(1);
        Some(place < u64::MAX / 100 * share)
    }

    /// A call that was admitted has succeeded.
    pub(super) fn succeed(&mut self) {
        self.successes = self.successes.saturating_add(1);
    }

    /// The rest of the least time of the stage.
    pub(super) fn rest(&self) -> Duration {
        Duration::from_nanos(self.until.saturating_sub(stamp::nanos()))
    }

    /// Whether the stage could have ended this long ago, had a call come.
    pub(super) fn is_overdue(&self, span: Duration) -> bool {
        self.until.saturating_add(clock::nanos_of(span)) <= stamp::nanos()
    }
}

fn end_of(length: Duration) -> u64 {
    stamp::nanos().saturating_add(clock::nanos_of(length))
}
