//! The window that a failure rate is measured over; of calls, or of time.
//!
//! Both kinds are written without a lock, and both know each entry's generation:
//! what a call of an earlier time reports late changes nothing.

mod calls;
mod time;

use retry_rules::BreakerConfig;

use self::calls::Calls;
use self::time::Time;
use crate::event::transition::Cause;

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

/// The sum of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) calls: u32,
    pub(super) failures: u32,
    pub(super) slow: u32,
}

impl Tally {
    /// Why these numbers open a breaker, if they do.
    fn verdict(self, config: &BreakerConfig, minimum_calls: u32) -> Option<Cause> {
        // A quotient is rounded to the nearest number, and so is a literal: 7 of 10 is 0.7.
        let reaches = |count, rate| f64::from(count) / f64::from(self.calls) >= rate;
        if self.calls == 0 || self.calls < minimum_calls {
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
    /// A window of the breaker's first generation.
    pub(super) fn new(config: &BreakerConfig) -> Self {
        match config.get_window() {
            retry_rules::Window::Time(span) => Self::Time(Time::new(span)),
            retry_rules::Window::Calls(calls) => Self::Calls(Calls::new(calls)),
            // A kind of window that this crate does not know cannot be measured
            // exactly, but must not leave the breaker blind.
            _ => Self::Calls(Calls::new(100)),
        }
    }

    /// Empties the window for a new generation. Only under the breaker's lock.
    pub(super) fn restart(&self, generation: u64) {
        match self {
            Self::Calls(calls) => calls.restart(generation),
            Self::Time(time) => time.restart(generation),
        }
    }

    /// Notes a call of this generation; if it is a bad one, says why the breaker
    /// opens now, if it does.
    pub(super) fn record(
        &self,
        config: &BreakerConfig,
        generation: u64,
        outcome: Outcome,
        is_present: impl Fn() -> bool,
    ) -> Option<Cause> {
        match self {
            Self::Calls(calls) => calls.record(config, generation, outcome),
            Self::Time(time) => time.record(config, generation, outcome, is_present),
        }
    }

    pub(super) fn tally(&self) -> Tally {
        match self {
            Self::Calls(calls) => calls.tally(),
            Self::Time(time) => time.tally(),
        }
    }
}
