//! Holds: all calls wait because a server has asked one of them to.
//!
//! A hold is independent of the state: closed, open and half-open stay what they are. One bit of
//! the packed state is set while there may be a hold, so that a breaker without one costs what it
//! did; the first call after the end of a hold clears it.

use core::time::Duration;

use super::super::packed_state::StagePass;
use super::super::permit::Permit;
use super::super::rejected::Rejected;
use super::super::{CircuitBreaker, FOR_EVER};
use crate::base::clock;
use crate::base::random;
use crate::base::sync::Ordering;
use crate::classify::registered;
use crate::event::Event;
use crate::observe;
use crate::protect::clock_nanos;

/// The calls that a hold has kept waiting come within this part of its length after its end.
const SPREAD: u32 = 10;

/// A hold whose end moves by more than this is reported again.
const REPORTED_STEP: u64 = 1_000_000_000;

impl CircuitBreaker {
    /// Holds all calls for `wait`, but at most for the configured
    /// [`hold`](retry_rules::BreakerConfig::hold); without that, it does nothing. A hold never ends
    /// earlier than another call of this method has set, and a forced breaker is not held.
    ///
    /// ```
    /// use core::time::Duration;
    /// use retry_runtime::{BreakerConfig, CircuitBreaker};
    ///
    /// let config = BreakerConfig::new().hold(Duration::from_secs(120));
    /// let breaker = CircuitBreaker::new("api", config);
    /// breaker.hold(Duration::from_secs(30));
    /// let rejected = breaker.try_acquire().unwrap_err();
    /// assert!(rejected.is_held());
    /// assert_eq!(rejected.remaining.as_secs(), 29);
    /// ```
    pub fn hold(&self, wait: Duration) {
        match self.config.get_hold() {
            Some(max) if !wait.is_zero() => (self.machine.hold)(self, wait.min(max)),
            _ => {}
        }
    }

    #[cold]
    pub(in crate::protect::breaker) fn hold_for(&self, span: Duration) {
        let now = clock_nanos::now();
        let until = now.saturating_add(clock::nanos_of(span)).min(FOR_EVER - 1);
        if self.packed().is_held() && until <= self.held_until.load(Ordering::Relaxed) {
            return;
        }
        registered::note_waits();
        let mut inner = self.lock();
        let held_until = self.held_until.load(Ordering::Relaxed);
        let goes_on = self.packed().is_held() && held_until > now;
        if inner.forced || goes_on && until <= held_until {
            return;
        }
        if !goes_on {
            self.held_from.store(now, Ordering::Relaxed);
        }
        self.held_until.store(until, Ordering::Relaxed);
        #[cfg(feature = "testing")]
        self.held_at.store(now, Ordering::Relaxed);
        self.packed.store(self.packed().held().0, Ordering::Release);
        let is_news = !goes_on || until > inner.reported_hold.saturating_add(REPORTED_STEP);
        if is_news {
            inner.reported_hold = until;
        }
        drop(inner);
        if is_news {
            let observe_only = self.observes();
            observe::emit(&Event::Held { breaker: &self.name, held: span, observe_only });
        }
    }

    /// Returns how long all calls are still held: zero if they are not. A breaker that only
    /// observes rejects nothing meanwhile.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let config = BreakerConfig::new().hold(Duration::from_secs(120));
    /// let breaker = CircuitBreaker::new("api", config);
    /// assert_eq!(breaker.held_for(), Duration::ZERO);
    /// breaker.hold(Duration::from_secs(3_600));
    /// assert_eq!(breaker.held_for().as_secs(), 119);
    /// ```
    pub fn held_for(&self) -> Duration {
        if !self.packed().is_held() {
            return Duration::ZERO;
        }
        self.rest_of_hold(self.held_until.load(Ordering::Relaxed))
    }

    /// Returns the rest of the hold that ends at `until`. If a test skips waits, its clock stands
    /// still: the rest is measured from the report, so that the same seed gives the same waits.
    #[cfg_attr(
        not(feature = "testing"),
        expect(clippy::unused_self, reason = "only a test that skips waits reads the breaker")
    )]
    fn rest_of_hold(&self, until: u64) -> Duration {
        let rest = until.saturating_sub(clock_nanos::now());
        #[cfg(feature = "testing")]
        if rest > 0 && crate::test_hooks::skips_waits() {
            let held_at = self.held_at.load(Ordering::Relaxed);
            return Duration::from_nanos(until.saturating_sub(held_at));
        }
        Duration::from_nanos(rest)
    }

    /// Returns how long calls are rejected because they are held.
    pub(crate) fn rejects_held_for(&self) -> Duration {
        if self.observes() { Duration::ZERO } else { self.held_for() }
    }

    /// Returns whether calls are held until after the open time ends.
    pub(crate) fn is_held_longest(&self) -> bool {
        self.rejects_held_for() > self.remaining()
    }

    /// Ends the hold now: a test skips the wait for it.
    #[cold]
    pub(crate) fn end_hold(&self) {
        if !self.packed().is_held() {
            return;
        }
        let _inner = self.lock();
        self.packed.store(self.packed().released().0, Ordering::Release);
    }

    /// The longest random time after the end of the hold in which a call that has waited for it
    /// tries again, so that not all of them come at once.
    #[cold]
    pub(crate) fn hold_spread(&self) -> Duration {
        let (from, until) = (&self.held_from, &self.held_until);
        let length = until.load(Ordering::Relaxed).saturating_sub(from.load(Ordering::Relaxed));
        let max = self.config.get_hold().unwrap_or_default();
        random::between(Duration::ZERO, Duration::from_nanos(length).min(max) / SPREAD)
    }

    /// The admission while the packed state has the bit of a hold: rejects the call during the
    /// hold, and clears the bit after it.
    #[cold]
    pub(in crate::protect::breaker) fn acquire_held(
        &self,
        pass: StagePass,
    ) -> Result<Permit<'_>, Rejected> {
        let until = self.held_until.load(Ordering::Relaxed);
        let left = self.rest_of_hold(until);
        if !left.is_zero() {
            let open = self.remaining();
            let rejected = self.reject(left.max(open));
            return rejected.map_err(|rejected| Rejected { is_held: left > open, ..rejected });
        }
        let inner = self.lock();
        // Not if another hold has begun meanwhile.
        if self.held_until.load(Ordering::Relaxed) == until {
            self.packed.store(self.packed().released().0, Ordering::Release);
        }
        drop(inner);
        self.acquire_again(pass)
    }

    /// Ends the time of the hold: loom's models must not depend on time.
    #[cfg(retry_loom)]
    #[doc(hidden)]
    pub fn end_hold_time(&self) {
        self.held_until.store(clock_nanos::now(), Ordering::Relaxed);
    }
}
