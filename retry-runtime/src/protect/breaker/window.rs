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
pub(super) struct CallOutcome {
    pub(super) failed: bool,
    pub(super) slow: bool,
}

impl CallOutcome {
    const GOOD: Self = Self { failed: false, slow: false };

    /// Returns whether the call counts against the breaker; only such a call can open it.
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

    /// Returns the cause for which these numbers open a breaker, if they do.
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

    /// Counts a call that ended at `now`, a `clock_nanos` time. If it failed or was slow, returns
    /// why the breaker opens now, if it does. A window of calls ignores the time.
    #[inline]
    pub(super) fn record(
        &mut self,
        config: &BreakerConfig,
        now: u64,
        outcome: CallOutcome,
    ) -> Option<Cause> {
        match self {
            Self::Calls(calls) => calls.record(outcome),
            Self::Time(time) => time.record(now, outcome),
        }
        if outcome.is_bad() { self.tally(now).verdict(config) } else { None }
    }

    /// Counts a call that was good.
    #[inline]
    pub(super) fn record_good(&mut self, now: u64) {
        match self {
            Self::Calls(calls) => calls.record(CallOutcome::GOOD),
            Self::Time(time) => time.record(now, CallOutcome::GOOD),
        }
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

/// A ring buffer of the last calls. While all of them were good, none of their outcomes is looked
/// at, and there may be none in memory.
#[repr(C)]
pub(super) struct Calls {
    /// The index of the next call, and, once the ring is full, of the oldest one.
    next: u32,
    count: u32,
    failures: u32,
    slow: u32,
    most: u32,
    /// The outcomes up to the last bad one that was written; all behind it are good.
    outcomes: Vec<CallOutcome>,
}

impl Calls {
    const fn new(most: u32) -> Self {
        Self { next: 0, count: 0, failures: 0, slow: 0, most, outcomes: Vec::new() }
    }

    fn clear(&mut self) {
        self.outcomes.clear();
        (self.next, self.count, self.failures, self.slow) = (0, 0, 0, 0);
    }

    #[inline]
    fn record(&mut self, outcome: CallOutcome) {
        let at = self.next;
        self.next = if at + 1 == self.most { 0 } else { at + 1 };
        if self.count < self.most {
            self.count += 1;
        }
        if outcome.is_bad() || self.failures | self.slow != 0 {
            self.put(at as usize, outcome);
        }
    }

    /// Puts an outcome in the place of the oldest one.
    #[inline(never)]
    fn put(&mut self, at: usize, outcome: CallOutcome) {
        if at >= self.outcomes.len() {
            if !outcome.is_bad() {
                return;
            }
            self.outcomes.resize(at + 1, CallOutcome::GOOD);
        }
        let oldest = &mut self.outcomes[at];
        if *oldest == outcome {
            return;
        }
        self.failures -= u32::from(oldest.failed);
        self.slow -= u32::from(oldest.slow);
        *oldest = outcome;
        self.failures += u32::from(outcome.failed);
        self.slow += u32::from(outcome.slow);
    }

    fn tally(&self) -> CallCounts {
        CallCounts {
            calls: self.count.into(),
            failures: self.failures.into(),
            slow: self.slow.into(),
        }
    }
}

/// The number of slices of a window of time; it advances by one slice at a time.
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
    /// A `clock_nanos` time.
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

    fn record(&mut self, now: u64, outcome: CallOutcome) {
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

#[cfg(all(test, not(retry_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_ring_of_calls_counts_like_a_list() {
        let mut seed = 7_u64;
        for most in 1..40 {
            let mut calls = Calls::new(most);
            let mut list = VecDeque::new();
            for step in 0..2_000_u64 {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                // Long stretches of good calls, with and without bad ones left in the ring.
                let is_bad = (step / 150) % 2 == 0 && seed >> 60 < 5;
                let outcome = CallOutcome { failed: is_bad && seed >> 59 & 1 == 0, slow: is_bad };
                if step == 1_500 {
                    calls.clear();
                    list.clear();
                }
                calls.record(outcome);
                list.push_back(outcome);
                if list.len() > most as usize {
                    list.pop_front();
                }
                let count = |is: fn(&&CallOutcome) -> bool| list.iter().filter(is).count() as u64;
                let counts = CallCounts {
                    calls: list.len() as u64,
                    failures: count(|outcome| outcome.failed),
                    slow: count(|outcome| outcome.slow),
                };
                assert_eq!(calls.tally(), counts, "{most} {step}");
            }
        }
    }

    #[test]
    fn good_calls_are_not_kept() {
        let mut calls = Calls::new(100);
        for _ in 0..250 {
            calls.record(CallOutcome::GOOD);
        }
        assert_eq!(calls.outcomes.capacity(), 0);
        assert_eq!(calls.tally(), CallCounts { calls: 100, failures: 0, slow: 0 });
    }
}
