//! A breaker that is controlled from outside, by a fleet that shares it: open for a
//! while, make one probe at a time, close. And what such a fleet asks of it: whether it is
//! called.
//!
//! All of it ends by itself. Whoever tells a breaker to be open says for how long; after that
//! the breaker decides alone, as after its own open time.

use core::time::Duration;

use super::word::Kind;
use super::{CircuitBreaker, FOR_EVER, Inner};
use crate::base::clock;
use crate::base::sync::Ordering;
use crate::event::transition::Cause;
use crate::protect::stamp;

/// How a breaker is controlled from outside, by [`CircuitBreaker::follow`].
///
/// ```
/// use core::time::Duration;
/// use retry_runtime::{BreakerConfig, CircuitBreaker, Lead, State};
///
/// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
/// breaker.follow(Lead::Open(Duration::from_secs(60)));
/// assert_eq!(breaker.state(), State::Open);
/// breaker.follow(Lead::Closed);
/// assert_eq!(breaker.state(), State::Closed);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lead {
    /// To refuse calls for so long, and then to decide alone: the next call is a probe.
    Open(Duration),
    /// To let probes through, one at a time, while it is open. Each begins within so long
    /// from now; after that it is open as it was before.
    Probe(Duration),
    /// To let calls through, and to start counting again.
    Closed,
}

/// Probes that somebody else lets a breaker make.
#[derive(Clone, Copy)]
pub(super) struct ProbeLoan {
    /// The last moment at which one begins, as a [`stamp`].
    until: u64,
    /// Until when the breaker is open if no probe decides, as a [`stamp`].
    open_until: u64,
}

impl CircuitBreaker {
    /// Sets the breaker's state as a fleet says, and returns `true` if it did: a breaker that
    /// was forced ignores it, and one that is not open makes no probe.
    ///
    /// For those who share a breaker between processes; the crate `retry-fleet` is one.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker, Lead, State};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new().success_threshold(1));
    /// breaker.follow(Lead::Open(Duration::from_secs(60)));
    /// assert!(breaker.try_acquire().is_err());
    ///
    /// breaker.follow(Lead::Probe(Duration::from_secs(1)));
    /// let probe = breaker.try_acquire().expect("one call goes through");
    /// assert!(breaker.try_acquire().is_err(), "and no other");
    /// probe.success();
    /// assert_eq!(breaker.state(), State::Closed);
    /// ```
    pub fn follow(&self, lead: Lead) -> bool {
        let mut inner = self.lock();
        let kind = self.word().kind();
        let obeys = !inner.forced
            && match lead {
                Lead::Open(span) => {
                    let opened_by = inner.opened_by.take();
                    self.transition(&mut inner, Kind::Open, Cause::Fleet);
                    inner.opened_by = opened_by;
                    self.open_until.store(after(span), Ordering::Relaxed);
                    true
                }
                Lead::Probe(span) => self.lend_probe(&mut inner, span),
                Lead::Closed => {
                    if matches!(kind, Kind::Open | Kind::HalfOpen) {
                        let closed = Kind::closed_by(&self.config);
                        self.transition(&mut inner, closed, Cause::Fleet);
                    }
                    true
                }
            };
        self.announce_all(inner);
        obeys
    }

    /// Returns `true` if a call came since this was last asked, admitted or not. Calls are
    /// noted from the first time on.
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
        if !self.word().is_watched() {
            let _inner = self.lock();
            self.word.store(self.word().watched().0, Ordering::Release);
        }
        self.called.swap(false, Ordering::Relaxed)
    }

    /// A call has come. One look where another has said so already.
    pub(super) fn note_call(&self) {
        if !self.called.load(Ordering::Relaxed) {
            self.called.store(true, Ordering::Relaxed);
        }
    }

    fn lend_probe(&self, inner: &mut Inner, span: Duration) -> bool {
        let until = after(span);
        match (self.word().kind(), &mut inner.loan) {
            (Kind::HalfOpen, Some(loan)) => {
                loan.until = until;
                true
            }
            (Kind::Open, _) => {
                let open_until = self.open_until.load(Ordering::Relaxed);
                self.transition(inner, Kind::HalfOpen, Cause::Fleet);
                inner.loan = Some(ProbeLoan { until, open_until });
                true
            }
            _ => false,
        }
    }

    /// Opens the breaker again if the time for lent probes is up, and none is under way.
    pub(super) fn end_loan(&self, inner: &mut Inner) {
        let Some(loan) = inner.loan else { return };
        inner.probes.pass_over(clock::now(), self.config.get_timeout());
        if inner.probes.count() == 0 && stamp::nanos() >= loan.until {
            self.transition(inner, Kind::Open, Cause::Fleet);
            self.open_until.store(loan.open_until, Ordering::Relaxed);
        }
    }

    /// How many probes may be under way at once.
    pub(super) fn most_probes(&self, inner: &Inner) -> u32 {
        if inner.loan.is_some() { 1 } else { self.config.get_half_open_requests() }
    }
}

/// So long from now, as a [`stamp`]; an end that never comes is no order, but a force.
fn after(span: Duration) -> u64 {
    stamp::nanos().saturating_add(stamp::nanos_of(span)).min(FOR_EVER - 1)
}
