//! The window that rates are measured over: the last N calls, or those of
//! the last so long.
//!
//! Plain data that counts exactly; it stands under the breaker's lock, and knows
//! no state and no generation.

use core::time::Duration;
use std::collections::VecDeque;

use retry_rules::BreakerConfig;

use crate::event::transition::Cause;
use crate::protect::stamp;

/// What became of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) failed: bool,
    pub(super) slow: bool,
}

impl Outcome {
    /// Only such a call can open a breaker.
    const fn is_bad(self) -> bool {
        self.failed || self.slow
    }
}

/// How many calls there were, and how many of them were bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) calls: u64,
    pub(super) failures: u64,
    pub(super) slow: u64,
}

impl Tally {
    pub(super) const NONE: Self = Self { calls: 0, failures: 0, slow: 0 };

    const fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            failures: self.failures + other.failures,
            slow: self.slow + other.slow,
        }
    }

    /// Why these numbers open a breaker, if they do.
    fn verdict(self, config: &BreakerConfig) -> Option<Cause> {
        // A quotient is rounded to the nearest number, and so is a literal: 7 of 10 is 0.7.
        #[expect(clippy::cast_precision_loss, reason = "nobody makes 2^53 calls")]
        let reaches = |count: u64, rate| count as f64 / self.calls as f64 >= rate;
        if self.calls == 0 || self.calls < u64::from(config.get_minimum_calls()) {
            None
        } else if config.get_failure_rate().is_some_and(|rate| reaches(self.failures, rate)) {
            Some(Cause::FailureRate)
        } else if config.get_slow_calls().is_some_and(|slow| reaches(self.slow, slow.rate())) {
            Some(Cause::SlowRate)
        } else {
            None
        }
    }
}

pub(super) enum Window {
    Calls(Calls),
    Time(Time),
}

impl Window {
    pub(super) const fn new(config: &BreakerConfig) -> Self {
        match config.get_window() {
            retry_rules::Window::Time(span) => Self::Time(Time::new(span)),
            retry_rules::Window::Calls(calls) => Self::Calls(Calls::new(calls)),
            // A kind of window that this crate does not know cannot be measured
            // exactly, but must not leave the breaker blind.
            _ => Self::Calls(Calls::new(100)),
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Self::Calls(calls) => calls.clear(),
            Self::Time(time) => time.clear(),
        }
    }

    /// Counts a call that ended `now`, as a [`stamp`]; if it is a bad one, says why the
    /// breaker opens now, if it does. A window of calls does not look at the time.
    #[inline]
    pub(super) fn record(
        &mut self,
        config: &BreakerConfig,
        now: u64,
        outcome: Outcome,
    ) -> Option<Cause> {
        match self {
            Self::Calls(calls) => calls.record(outcome),
            Self::Time(time) => time.record(now, outcome),
        }
        if outcome.is_bad() { self.tally(now).verdict(config) } else { None }
    }

    pub(super) fn tally(&self, now: u64) -> Tally {
        match self {
            Self::Calls(calls) => calls.tally(),
            Self::Time(time) => time.tally(now),
        }
    }
}

// In both kinds of windows, what a good call among good calls writes stands first: it
// is to share the lock's line of the cache, which all that threads pass on is then.

/// A ring of the last calls.
#[repr(C)]
pub(super) struct Calls {
    /// Where the oldest stands in a full ring.
    oldest: usize,
    failures: u64,
    slow: u64,
    outcomes: Vec<Outcome>,
    most: usize,
}

impl Calls {
    const fn new(most: u32) -> Self {
        Self { oldest: 0, failures: 0, slow: 0, outcomes: Vec::new(), most: most as usize }
    }

    fn clear(&mut self) {
        self.outcomes.clear();
        (self.oldest, self.failures, self.slow) = (0, 0, 0);
    }

    fn record(&mut self, outcome: Outcome) {
        if self.outcomes.len() < self.most {
            self.outcomes.push(outcome);
        } else {
            let oldest = &mut self.outcomes[self.oldest];
            self.oldest = if self.oldest + 1 == self.most { 0 } else { self.oldest + 1 };
            if *oldest == outcome {
                return;
            }
            self.failures -= u64::from(oldest.failed);
            self.slow -= u64::from(oldest.slow);
            *oldest = outcome;
        }
        self.failures += u64::from(outcome.failed);
        self.slow += u64::from(outcome.slow);
    }

    fn tally(&self) -> Tally {
        Tally { calls: self.outcomes.len() as u64, failures: self.failures, slow: self.slow }
    }
}

/// A window of time moves on by one of this many slices at a time.
const SLICES: u64 = 10;

/// The slices of the last so long.
#[repr(C)]
pub(super) struct Time {
    present: Slice,
    /// Those before, the oldest first.
    earlier: VecDeque<Slice>,
    /// In nanoseconds.
    span: u64,
}

/// The calls of a tenth of the span, from the first of them on.
#[derive(Clone, Copy)]
struct Slice {
    /// As a [`stamp`].
    begin: u64,
    tally: Tally,
}

impl Slice {
    const fn beginning(begin: u64) -> Self {
        Self { begin, tally: Tally::NONE }
    }

    /// Saturating, for one thread may have read the clock later than another, and be first.
    const fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.begin)
    }
}

impl Time {
    const fn new(span: Duration) -> Self {
        Self { present: Slice::beginning(0), earlier: VecDeque::new(), span: stamp::nanos_of(span) }
    }

    fn clear(&mut self) {
        self.present = Slice::beginning(0);
        self.earlier.clear();
    }

    fn record(&mut self, now: u64, outcome: Outcome) {
        if self.present.age(now) >= self.span.div_ceil(SLICES) {
            self.begin_slice(now);
        }
        let tally = &mut self.present.tally;
        tally.calls += 1;
        if outcome.is_bad() {
            tally.failures += u64::from(outcome.failed);
            tally.slow += u64::from(outcome.slow);
        }
    }

    #[cold]
    fn begin_slice(&mut self, now: u64) {
        self.earlier.push_back(self.present);
        self.earlier.retain(|slice| slice.age(now) < self.span);
        self.present = Slice::beginning(now);
    }

    fn tally(&self, now: u64) -> Tally {
        let slices = self.earlier.iter().chain([&self.present]);
        slices
            .filter(|slice| slice.age(now) < self.span)
            .fold(Tally::NONE, |sum, slice| sum.plus(slice.tally))
    }
}
