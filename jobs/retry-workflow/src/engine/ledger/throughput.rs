//! [`Throughput`]: how many items to keep ready, given how quickly they are handled.

use std::time::Duration;

use tokio::time::Instant;

/// The time for which items are claimed ahead.
const AHEAD: Duration = Duration::from_millis(50);
/// The largest number of items claimed ahead.
const MOST_AHEAD: usize = 2_000;

/// The number of items settled in the time for which items are claimed ahead.
pub(super) struct Throughput {
    since: Instant,
    settled: usize,
    last: usize,
}

impl Throughput {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), settled: 0, last: 0 }
    }

    pub(super) fn count(&mut self) {
        self.settled = self.settled.saturating_add(1);
        // The clock is only read now and then.
        if self.settled.is_multiple_of(16) || self.last == 0 {
            self.measure();
        }
    }

    fn measure(&mut self) {
        let passed = self.since.elapsed();
        if passed >= AHEAD {
            let share = AHEAD.as_secs_f64() / passed.as_secs_f64();
            #[expect(
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a rate is no exact number"
            )]
            let last = (self.settled as f64 * share) as usize;
            *self = Self { since: Instant::now(), settled: 0, last };
        }
    }

    /// Returns how many items to keep ready beyond those being worked on.
    pub(super) fn in_a_while(&self) -> usize {
        self.last.max(self.settled).min(MOST_AHEAD)
    }
}
