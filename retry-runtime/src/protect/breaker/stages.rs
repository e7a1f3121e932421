//! The stages of a gradual half-open state: which calls they admit, and when they end.
//!
//! A stage lasts for its minimum time and until a call that it admitted has succeeded. If all of
//! those calls have ended otherwise by then, the stage begins again, because it would have to wait
//! long for its next place where calls are rare.

use core::time::Duration;

use super::packed_state::History;
use super::waiters::Woken;
use crate::base::clock;

/// The shares of the calls that are admitted, in percent.
const SHARES: [u64; 4] = [1, 5, 25, 50];

/// 2⁶⁴ divided by the golden ratio: the multiples of it are spread evenly however many there are.
/// Source: Knuth, "The Art of Computer Programming", volume 3, 6.4 (Fibonacci hashing).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The stage that the breaker is in. Times are [`clock_nanos`](crate::protect::clock_nanos) times.
pub(super) struct Stages {
    stage: u32,
    began: u64,
    /// The end of its minimum time; later, if it has begun again.
    until: u64,
    /// The calls that have come since it began, or began again.
    arrivals: u64,
    /// The calls that it admitted and that have not ended.
    running: u32,
    /// The time at which the latest of them was admitted.
    admitted_at: u64,
    /// Set if a call that it admitted has succeeded.
    has_succeeded: bool,
    /// The minimum time of a stage, in nanoseconds.
    min_time: u64,
    /// The time after which an admitted call no longer counts as running, in nanoseconds.
    overdue: u64,
}

impl Stages {
    pub(super) const fn new() -> Self {
        Self {
            stage: 0,
            began: 0,
            until: 0,
            arrivals: 0,
            running: 0,
            admitted_at: 0,
            has_succeeded: false,
            min_time: 0,
            overdue: 0,
        }
    }

    /// The first stage begins.
    pub(super) fn begin(&mut self, now: u64, min_time: Duration, overdue: Duration) {
        (self.min_time, self.overdue) = (clock::nanos_of(min_time), clock::nanos_of(overdue));
        self.begin_stage(0, now);
    }

    fn begin_stage(&mut self, stage: u32, now: u64) {
        let Self { min_time, overdue, .. } = *self;
        let until = now.saturating_add(min_time);
        *self = Self { stage, began: now, until, min_time, overdue, ..Self::new() };
    }

    /// Returns whether a call is admitted that comes now, or `None` if the last stage is over.
    ///
    /// No randomness is needed: the calls that are admitted are evenly spread, and the first of
    /// each stage is one of them. A call that tries again in the stage that refused it is not
    /// counted again.
    pub(super) fn admit(&mut self, now: u64, history: History) -> Option<bool> {
        if now >= self.until {
            if self.has_succeeded {
                self.begin_stage(self.stage + 1, now);
            } else if self.is_quiet(now) {
                self.arrivals = 0;
                self.until = now.saturating_add(self.min_time);
            }
        }
        let share = self.share()?;
        let is_admitted = match history {
            History::Admitted => true,
            _ if !self.takes_part(history) => false,
            _ => {
                let is_admitted = self.place() < share;
                self.arrivals = self.arrivals.wrapping_add(1);
                is_admitted
            }
        };
        if is_admitted {
            self.running = self.running.saturating_add(1);
            self.admitted_at = now;
        }
        Some(is_admitted)
    }

    /// A call that the present stage admitted has ended. Returns the waiting calls that this
    /// concerns.
    pub(super) fn ended(&mut self, now: u64, has_succeeded: bool) -> Woken {
        self.running = self.running.saturating_sub(1);
        self.has_succeeded |= has_succeeded;
        if now < self.until {
            Woken::None
        } else if self.has_succeeded {
            Woken::All
        } else if self.is_quiet(now) {
            Woken::One
        } else {
            Woken::None
        }
    }

    /// Returns how long until the next call is admitted that comes for the first time, if no call
    /// ends before that.
    pub(super) fn until_admits(&self, now: u64) -> Duration {
        if self.share().is_none_or(|share| self.place() < share) {
            return Duration::ZERO;
        }
        self.until_next(now)
    }

    /// Returns how long until a waiting call may try again, if no call ends before that. It is not
    /// necessarily admitted then.
    pub(super) fn until_may_try(&self, now: u64, history: History) -> Duration {
        if self.takes_part(history) { Duration::ZERO } else { self.until_next(now) }
    }

    /// Returns how long until the stage ends or begins again, if no call ends before that.
    fn until_next(&self, now: u64) -> Duration {
        let at = if now < self.until {
            self.until
        } else if self.has_succeeded || self.is_quiet(now) {
            now
        } else {
            self.admitted_at.saturating_add(self.overdue)
        };
        Duration::from_nanos(at.saturating_sub(now))
    }

    /// The number of the stage, from 0.
    pub(super) const fn stage(&self) -> u32 {
        self.stage
    }

    pub(super) const fn began(&self) -> u64 {
        self.began
    }

    /// Returns whether the stage could have ended this long ago, had a call come.
    pub(super) fn is_overdue(&self, now: u64, span: Duration) -> bool {
        self.until.saturating_add(clock::nanos_of(span)) <= now
    }

    /// The part of all places that is admitted, or `None` after the last stage.
    fn share(&self) -> Option<u64> {
        Some(u64::MAX / 100 * SHARES.get(self.stage as usize)?)
    }

    /// The next place.
    const fn place(&self) -> u64 {
        self.arrivals.wrapping_mul(GOLDEN)
    }

    /// Returns whether the call may be admitted: this stage has not refused it, or it is the first
    /// one since the stage began again.
    fn takes_part(&self, history: History) -> bool {
        history != History::Refused(self.stage) || self.arrivals == 0
    }

    /// Returns whether no admitted call is running that could still succeed.
    const fn is_quiet(&self, now: u64) -> bool {
        self.running == 0 || self.admitted_at.saturating_add(self.overdue) <= now
    }
}
