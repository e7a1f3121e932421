//! The window over which rates are measured: the last N calls, or the calls of the last N seconds.
//!
//! Plain data with exact counts. It is guarded by the breaker's lock, and knows nothing of states
//! and generations.

use core::time::Duration;
use std::collections::VecDeque;

use retry_rules::BreakerConfig;

use crate::base::clock;
use crate::event::transition::Cause;

/// The outcome of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) failed: bool,
    pub(super) slow: bool,
}

impl Outcome {
    /// Whether the call counts against the breaker; only such a call can open it.
    const fn is_bad(self) -> bool {
        self.failed || self.slow
    }
}

/// The number of calls, and of the failed and slow ones among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallCounts {
    pub(super) calls: u64,
    pub(super) failures: u64,
    pub(super) slow: u64,
}

impl CallCounts {
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
        // Division rounds to the nearest float, and so does a literal: 7 of 10 equals 0.7.
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
            // A kind of window that this crate does not know cannot be measured exactly, but the
            // breaker must still measure something.
            _ => Self::Calls(Calls::new(100)),
        }
    }

    pub(super) fn clear(&mut self) {
        match self {
            Self::Calls(calls) => calls.clear(),
            Self::Time(time) => time.clear(),
        }
    }

    /// Counts a call that ended at `now`, a [`stamp`]. If it failed or was slow, returns why the
    /// breaker opens now, if it does. A window of calls ignores the time.
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

    pub(super) fn tally(&self, now: u64) -> CallCounts {
        match self {
            Self::Calls(calls) => calls.tally(),
            Self::Time(time) => time.tally(now),
        }
    }
}

// In both kinds of windows, the fields that a good call among good calls writes come first, so that
// they share a cache line with the lock. Then only that line moves between the threads.

/// A ring buffer of the last calls.
#[repr(C)]
pub(super) struct Calls {
    /// The index of the oldest call, once the ring is full.
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

    fn tally(&self) -> CallCounts {
        CallCounts { calls: self.outcomes.len() as u64, failures: self.failures, slow: self.slow }
    }
}

/// How many slices a window of time is divided into; it advances by one at a time.
const SLICES: u64 = 10;

/// The calls of the last `span` of time, in slices.
#[repr(C)]
pub(super) struct Time {
    present: Slice,
    /// The slices before it, oldest first.
    earlier: VecDeque<Slice>,
    /// In nanoseconds.
    span: u64,
}

/// The calls of a tenth of the span, which starts with the first of them.
#[derive(Clone, Copy)]
struct Slice {
    /// A [`stamp`].
    begin: u64,
    tally: CallCounts,
}

impl Slice {
    const fn beginning(begin: u64) -> Self {
        Self { begin, tally: CallCounts::NONE }
    }

    /// Saturating, because a thread that read the clock later may have recorded its call first.
    const fn age(&self, now: u64) -> u64 {
        now.saturating_sub(self.begin)
    }
}

impl Time {
    const fn new(span: Duration) -> Self {
        Self { present: Slice::beginning(0), earlier: VecDeque::new(), span: clock::nanos_of(span) }
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

    fn tally(&self, now: u64) -> CallCounts {
        let slices = self.earlier.iter().chain([&self.present]);
        slices
            .filter(|slice| slice.age(now) < self.span)
            .fold(CallCounts::NONE, |sum, slice| sum.plus(slice.tally))
    }
}
