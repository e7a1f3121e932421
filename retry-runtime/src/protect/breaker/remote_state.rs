//! A breaker that is controlled from outside, by a fleet that shares it: open for a while, make one
//! probe at a time, close. Also reports to such a fleet whether the breaker is being called.
//!
//! Every remote state expires: a breaker is opened for a given time, after which the breaker
//! decides on its own, as after its own open time.

use core::time::Duration;

use super::packed_state::Mode;
use super::waiters::Woken;
use super::{CircuitBreaker, FOR_EVER, LockedState};
use crate::base::clock;
use crate::base::sync::Ordering;
use crate::event::transition::Cause;
use crate::protect::clock_nanos;

/// A state that is set from outside, by a fleet that shares the breaker, with
/// [`CircuitBreaker::follow`].
///
/// ```
/// use core::time::Duration;
/// use retry_runtime::{BreakerConfig, CircuitBreaker, RemoteState, State};
///
/// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
/// breaker.follow(RemoteState::Open(Duration::from_secs(60)));
/// assert_eq!(breaker.state(), State::Open);
/// breaker.follow(RemoteState::Closed);
/// assert_eq!(breaker.state(), State::Closed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteState {
    /// Rejects calls for this long; then the breaker decides on its own: the next call is a probe.
    Open(Duration),
    /// Lets probes through, one at a time, while the breaker is open. Each must begin within this
    /// time from now; after that, the breaker is open as before.
    Probe(Duration),
    /// Lets all calls through, and starts counting again: a fleet has seen for itself that the
    /// other side works, so there are no stages, even if the breaker has a
    /// [gradual](retry_rules::HalfOpen::Gradual) half-open state.
    Closed,
    /// Ends a [hold](CircuitBreaker::hold) now, and changes no state: another member of the fleet
    /// was reset.
    EndHold,
}

/// Permission from outside for a breaker to probe.
#[derive(Clone, Copy)]
pub(super) struct ProbeLoan {
    /// The end of the time in which a probe may begin, as a [`clock_nanos`] time.
    until: u64,
    /// The end of the open time if no probe decides before, as a [`clock_nanos`] time.
    open_until: u64,
}

impl CircuitBreaker {
    /// Sets the breaker's state on behalf of a fleet, and returns `true` if it did: a breaker that
    /// was forced ignores it, and one that is not open makes no probe.
    ///
    /// For sharing a breaker between processes, as the crate `retry-fleet` does.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker, RemoteState, State};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new().success_threshold(1));
    /// breaker.follow(RemoteState::Open(Duration::from_secs(60)));
    /// assert!(breaker.try_acquire().is_err());
    ///
    /// breaker.follow(RemoteState::Probe(Duration::from_secs(1)));
    /// let probe = breaker.try_acquire().expect("one call goes through");
    /// assert!(breaker.try_acquire().is_err(), "and no other");
    /// probe.success();
    /// assert_eq!(breaker.state(), State::Closed);
    /// ```
    pub fn follow(&self, state: RemoteState) -> bool {
        let mut inner = self.lock();
        let mode = self.packed().mode();
        let obeys = !inner.forced
            && match state {
                RemoteState::Open(span) => {
                    let opened_by = inner.opened_by.take();
                    self.transition(&mut inner, Mode::Open, Cause::Fleet);
                    inner.opened_by = opened_by;
                    self.open_until.store(after(span), Ordering::Relaxed);
                    true
                }
                RemoteState::Probe(span) => self.lend_probe(&mut inner, span),
                RemoteState::Closed => {
                    if matches!(mode, Mode::Open | Mode::HalfOpen | Mode::Gradual) {
                        let closed = Mode::closed_by(&self.config);
                        self.transition(&mut inner, closed, Cause::Fleet);
                    }
                    true
                }
                RemoteState::EndHold => {
                    self.packed.store(self.packed().released().0, Ordering::Release);
                    inner.woken = Woken::All;
                    true
                }
            };
        self.announce_all(inner);
        obeys
    }

    /// Returns `true` if a call came since this was last called, whether it was admitted or not.
    /// Calls are noted from the first use of this method on.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// assert!(!breaker.take_called());
    /// breaker.try_acquire().unwrap().success();
    /// assert!(breaker.take_called());
    /// assert!(!breaker.take_called());
    /// ```
    pub fn take_called(&self) -> bool {
        if !self.packed().is_watched() {
            let _inner = self.lock();
            self.packed.store(self.packed().watched().0, Ordering::Release);
        }
        self.called.swap(false, Ordering::Relaxed)
    }

    /// Notes a call. Only a read if one was noted already.
    pub(super) fn note_call(&self) {
        if !self.called.load(Ordering::Relaxed) {
            self.called.store(true, Ordering::Relaxed);
        }
    }

    fn lend_probe(&self, inner: &mut LockedState, span: Duration) -> bool {
        let until = after(span);
        match (self.packed().mode(), &mut inner.loan) {
            (Mode::HalfOpen, Some(loan)) => {
                loan.until = until;
                true
            }
            (Mode::Open, _) => {
                let open_until = self.open_until.load(Ordering::Relaxed);
                self.transition(inner, Mode::HalfOpen, Cause::Fleet);
                inner.loan = Some(ProbeLoan { until, open_until });
                true
            }
            _ => false,
        }
    }

    /// Opens the breaker again if the time for lent probes is over and none is running.
    pub(super) fn end_loan(&self, inner: &mut LockedState) {
        let Some(loan) = inner.loan else { return };
        inner.probes.expire(clock::now(), self.config.get_timeout());
        if inner.probes.count() == 0 && clock_nanos::now() >= loan.until {
            self.transition(inner, Mode::Open, Cause::Fleet);
            self.open_until.store(loan.open_until, Ordering::Relaxed);
        }
    }

    /// Returns how many probes may run at a time.
    pub(super) fn max_probes(&self, inner: &LockedState) -> u32 {
        if inner.loan.is_some() { 1 } else { self.config.get_half_open_requests() }
    }
}

/// Returns the time `span` from now, as a [`clock_nanos`] time. Capped below [`FOR_EVER`], because
/// only a forced state has no end.
fn after(span: Duration) -> u64 {
    clock_nanos::now().saturating_add(clock::nanos_of(span)).min(FOR_EVER - 1)
}
