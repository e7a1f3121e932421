//! The permission to make one call.

use core::fmt;
use core::mem;
use core::time::Duration;

use super::CircuitBreaker;
use super::outcomes::Report;
use super::packed_state::{PackedState, StagePass, Tag};
use super::rejected::Rejected;
use crate::base::sync::Arc;

/// Permission to make one call, and the duty to report its outcome.
///
/// Call [`success`](Self::success), [`failure`](Self::failure),
/// [`rate_limited`](Self::rate_limited) or [`forgive`](Self::forgive). A permit dropped without a
/// report, as when a future is cancelled, is forgiven; but if its thread is panicking, that counts
/// as a failure, and if the call took longer than `slow_calls` allows, as slow. Reports on calls
/// admitted before the breaker changed state are ignored.
///
/// ```
/// use retry_runtime::{BreakerConfig, CircuitBreaker};
///
/// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
///
/// # fn query() -> Result<u32, std::io::Error> { Ok(1) }
/// if let Ok(permit) = DB.try_acquire() {
///     match query() {
///         Ok(_) => permit.success(),
///         Err(_) => permit.failure(),
///     }
/// }
/// ```
#[must_use = "a permit that is dropped says nothing about the call"]
pub struct Permit<'a> {
    breaker: &'a CircuitBreaker,
    tag: Tag,
}

impl<'a> Permit<'a> {
    #[inline]
    pub(super) const fn new(breaker: &'a CircuitBreaker, tag: Tag) -> Self {
        Self { breaker, tag }
    }

    /// Returns the part of this attempt that the call keeps for a retry.
    pub(crate) const fn stage_pass(&self) -> StagePass {
        StagePass::admitted(self.tag)
    }

    /// Reports that the call succeeded.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// # let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// breaker.try_acquire().unwrap().failure();
    /// breaker.try_acquire().unwrap().success();
    /// assert_eq!(breaker.snapshot().consecutive_failures, 0);
    /// ```
    #[inline]
    pub fn success(self) {
        let (breaker, tag) = self.into_parts();
        if tag.is_closed() {
            breaker.succeed_closed(tag);
        } else {
            (breaker.machine.report)(breaker, tag, Report::Success);
        }
    }

    /// Reports that the call failed in a way that reflects on the dependency.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// # let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// breaker.try_acquire().unwrap().failure();
    /// assert_eq!(breaker.snapshot().consecutive_failures, 1);
    /// ```
    #[inline]
    pub fn failure(self) {
        let (breaker, tag) = self.into_parts();
        (breaker.machine.report)(breaker, tag, Report::Failure(None));
    }

    /// Reports a [`failure`](Self::failure) with its error: if it opens the breaker, its
    /// text is in the [`Transition`](crate::Transition) and the
    /// [`Snapshot`](crate::Snapshot).
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(1));
    /// breaker.try_acquire().unwrap().failure_with(&"connection refused");
    /// assert_eq!(breaker.snapshot().opened_by.as_deref(), Some("connection refused"));
    /// ```
    #[inline]
    pub fn failure_with(self, error: &dyn fmt::Display) {
        let (breaker, tag) = self.into_parts();
        (breaker.machine.report)(breaker, tag, Report::Failure(Some(error)));
    }

    /// Reports that the server has asked callers to wait. If the breaker is configured to
    /// [hold](retry_rules::BreakerConfig::hold) calls, it holds all of them for this long, and the
    /// call is neither a failure nor a success. Otherwise, and if the wait is zero, it is a
    /// [`failure`](Self::failure).
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let config = BreakerConfig::new().hold(Duration::from_secs(120));
    /// let breaker = CircuitBreaker::new("api", config);
    /// breaker.try_acquire().unwrap().rate_limited(Duration::from_secs(30));
    /// assert_eq!(breaker.snapshot().consecutive_failures, 0);
    /// assert_eq!(breaker.held_for().as_secs(), 29);
    /// ```
    pub fn rate_limited(self, wait: Duration) {
        if wait.is_zero() || !self.may_hold() {
            return self.failure();
        }
        // Held before the report, which may free the slot of a probe and wake a caller.
        self.hold(wait);
        let (breaker, tag) = self.into_parts();
        (breaker.machine.report)(breaker, tag, Report::Held);
    }

    /// Returns whether the breaker is configured to hold calls.
    pub(crate) const fn may_hold(&self) -> bool {
        self.breaker.config().get_hold().is_some()
    }

    /// Holds all calls for `wait`, as far as the breaker may. A call that should have been rejected
    /// holds nothing.
    pub(crate) fn hold(&self, wait: Duration) {
        if !self.tag.is_ignored() {
            self.breaker.hold(wait);
        }
    }

    /// Reports that the call was rejected further inside by a breaker that holds calls.
    #[cold]
    pub(crate) fn held_elsewhere(self) {
        let (breaker, tag) = self.into_parts();
        (breaker.machine.report)(breaker, tag, Report::HeldElsewhere);
    }

    /// Reports no outcome: the call was cancelled, cut short, or never made. If it took longer than
    /// [`slow_calls`](retry_rules::BreakerConfig::slow_calls) allows, it counts as slow.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// # let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// breaker.try_acquire().unwrap().failure();
    /// breaker.try_acquire().unwrap().forgive();
    /// assert_eq!(breaker.snapshot().consecutive_failures, 1);
    /// ```
    #[inline]
    pub fn forgive(self) {
        let (breaker, tag) = self.into_parts();
        (breaker.machine.report)(breaker, tag, Report::Neither);
    }

    #[inline]
    fn into_parts(self) -> (&'a CircuitBreaker, Tag) {
        let parts = (self.breaker, self.tag);
        mem::forget(self);
        parts
    }
}

impl Drop for Permit<'_> {
    // Not inlined: it is part of the drop glue of every future that holds a permit.
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        let panics = std::thread::panicking();
        let report = if panics { Report::Failure(None) } else { Report::Neither };
        (self.breaker.machine.report)(self.breaker, self.tag, report);
    }
}

retry_rules::partial_debug!(Permit<'_>, |self| { breaker: &self.breaker.name() });

/// A [`Permit`] that holds its breaker, for anything that outlives the borrow: a spawned
/// task, a response body.
///
/// ```
/// use std::sync::Arc;
/// use retry_runtime::{BreakerConfig, CircuitBreaker};
///
/// let breaker = Arc::new(CircuitBreaker::new("db", BreakerConfig::new()));
/// let permit = breaker.try_acquire_owned().expect("a new breaker is closed");
/// std::thread::spawn(move || permit.failure()).join().unwrap();
/// assert_eq!(breaker.snapshot().consecutive_failures, 1);
/// ```
#[must_use = "a permit that is dropped says nothing about the call"]
pub struct OwnedPermit {
    breaker: Arc<CircuitBreaker>,
    // `None` once the outcome was reported.
    tag: Option<Tag>,
}

impl CircuitBreaker {
    /// Returns a permit to make one call now.
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, CircuitBreaker};
    ///
    /// let breaker = CircuitBreaker::new("db", BreakerConfig::new());
    /// let permit = breaker.try_acquire().expect("a new breaker is closed");
    /// permit.success();
    /// ```
    ///
    /// # Errors
    /// [`Rejected`] while the breaker holds calls, while it is open, half-open with
    /// `half_open_requests` probes already running, or in a stage in which the call has no place.
    #[inline]
    pub fn try_acquire(&self) -> Result<Permit<'_>, Rejected> {
        self.admit_closed().or_else(|packed| self.acquire_first(packed))
    }

    /// The admission of a call that comes for the first time.
    #[inline(never)]
    fn acquire_first(&self, packed: PackedState) -> Result<Permit<'_>, Rejected> {
        self.acquire(packed, || StagePass::NONE)
    }

    /// Returns a permit that holds its breaker, like [`try_acquire`](Self::try_acquire) otherwise.
    ///
    /// # Errors
    /// Those of [`try_acquire`](Self::try_acquire).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use retry_runtime::{BreakerConfig, CircuitBreaker};
    ///
    /// let breaker = Arc::new(CircuitBreaker::new("db", BreakerConfig::new()));
    /// breaker.try_acquire_owned().unwrap().success();
    /// ```
    pub fn try_acquire_owned(self: &Arc<Self>) -> Result<OwnedPermit, Rejected> {
        let (_, tag) = self.try_acquire()?.into_parts();
        Ok(OwnedPermit { breaker: Arc::clone(self), tag: Some(tag) })
    }
}

impl OwnedPermit {
    /// Reports that the call succeeded, as [`Permit::success`] does.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// # let breaker = Arc::new(CircuitBreaker::new("db", BreakerConfig::new()));
    /// let permit = breaker.try_acquire_owned().unwrap();
    /// permit.success();
    /// assert_eq!(breaker.snapshot().consecutive_failures, 0);
    /// ```
    pub fn success(mut self) {
        self.take().into_iter().for_each(Permit::success);
    }

    /// Reports that the call failed, as [`Permit::failure`] does.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// # let breaker = Arc::new(CircuitBreaker::new("db", BreakerConfig::new()));
    /// let permit = breaker.try_acquire_owned().unwrap();
    /// permit.failure();
    /// assert_eq!(breaker.snapshot().consecutive_failures, 1);
    /// ```
    pub fn failure(mut self) {
        self.take().into_iter().for_each(Permit::failure);
    }

    /// Reports that the call failed with this error, as [`Permit::failure_with`] does.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// # let breaker = Arc::new(CircuitBreaker::new("db", BreakerConfig::new()));
    /// let permit = breaker.try_acquire_owned().unwrap();
    /// permit.failure_with(&"connection refused");
    /// assert_eq!(breaker.snapshot().consecutive_failures, 1);
    /// ```
    pub fn failure_with(mut self, error: &dyn fmt::Display) {
        self.take().into_iter().for_each(|permit| permit.failure_with(error));
    }

    /// Reports that the server has asked callers to wait, as [`Permit::rate_limited`] does.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use core::time::Duration;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// let config = BreakerConfig::new().hold(Duration::from_secs(120));
    /// let breaker = Arc::new(CircuitBreaker::new("api", config));
    /// let permit = breaker.try_acquire_owned().unwrap();
    /// permit.rate_limited(Duration::from_secs(30));
    /// assert!(breaker.try_acquire_owned().unwrap_err().is_held());
    /// ```
    pub fn rate_limited(mut self, wait: Duration) {
        self.take().into_iter().for_each(|permit| permit.rate_limited(wait));
    }

    /// Reports no outcome, as [`Permit::forgive`] does.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use retry_runtime::{BreakerConfig, CircuitBreaker};
    /// # let breaker = Arc::new(CircuitBreaker::new("db", BreakerConfig::new()));
    /// let permit = breaker.try_acquire_owned().unwrap();
    /// permit.forgive();
    /// assert_eq!(breaker.snapshot().consecutive_failures, 0);
    /// ```
    pub fn forgive(mut self) {
        self.take().into_iter().for_each(Permit::forgive);
    }

    /// Takes the permit out, so that it reports only once.
    fn take(&mut self) -> Option<Permit<'_>> {
        self.tag.take().map(|tag| Permit::new(&self.breaker, tag))
    }
}

impl Drop for OwnedPermit {
    fn drop(&mut self) {
        drop(self.take());
    }
}

retry_rules::partial_debug!(OwnedPermit, |self| { breaker: &self.breaker.name() });
