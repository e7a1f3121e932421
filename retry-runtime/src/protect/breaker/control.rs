//! Setting the state of a breaker, by hand or after a restart.

mod hold;

use core::time::Duration;

use super::packed_state::Mode;
use super::{CircuitBreaker, FOR_EVER};
use crate::base::clock;
use crate::base::sync::Ordering;
use crate::event::transition::{Cause, State};
use crate::protect::clock_nanos;

impl CircuitBreaker {
    /// Opens the breaker until [`reset`](Self::reset) or
    /// [`force_closed`](Self::force_closed). One that only observes still rejects nothing.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// breaker.force_open();
    /// assert!(breaker.try_acquire().is_err());
    /// ```
    pub fn force_open(&self) {
        self.change(Mode::Open, Cause::Forced);
    }

    /// Lets every call through, whatever its outcome, until [`reset`](Self::reset) or
    /// [`force_open`](Self::force_open).
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(1));
    /// breaker.force_closed();
    /// breaker.try_acquire().unwrap().failure();
    /// assert!(breaker.try_acquire().is_ok());
    /// ```
    pub fn force_closed(&self) {
        self.change(Mode::Forced, Cause::Forced);
    }

    /// Closes the breaker and clears all its counts.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker, State};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// breaker.force_open();
    /// breaker.reset();
    /// assert_eq!(breaker.state(), State::Closed);
    /// ```
    pub fn reset(&self) {
        self.change(Mode::closed_by(&self.config), Cause::Reset);
    }

    /// Continues from the breaker of another process: in this state, with this many consecutive
    /// failures, and open for this long from now ([`Duration::MAX`]: until reset). That process's
    /// probes and stages are unknown, so half-open is restored as open with its open time already
    /// over. If only rates decide, the failures are ignored; a growing open time starts over.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker, State};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(5));
    /// breaker.restore(State::Closed, 4, Duration::ZERO);
    /// breaker.try_acquire().unwrap().failure();
    /// assert!(breaker.is_open());
    /// ```
    pub fn restore(&self, state: State, consecutive_failures: u32, remaining: Duration) {
        let mut inner = self.lock();
        match state {
            State::Closed => {
                self.transition(&mut inner, Mode::closed_by(&self.config), Cause::Restored);
                if self.packed().mode().is_measured() {
                    inner.streak = consecutive_failures;
                } else {
                    self.streak.set(self.packed().generation(), consecutive_failures);
                }
            }
            State::Open | State::HalfOpen => {
                self.transition(&mut inner, Mode::Open, Cause::Restored);
                let until = match remaining {
                    _ if state == State::HalfOpen => clock_nanos::now(),
                    Duration::MAX => FOR_EVER,
                    remaining => clock_nanos::now().saturating_add(clock::nanos_of(remaining)),
                };
                self.open_until.store(until, Ordering::Relaxed);
            }
        }
        self.announce_all(inner);
    }
}
