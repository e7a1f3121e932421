//! The leave to make one call.

use core::fmt;
use core::mem;

use super::word::Tag;
use super::{CircuitBreaker, Verdict};

/// The leave to make one call, and the duty to say what became of it.
///
/// Say [`success`](Self::success), [`failure`](Self::failure) or
/// [`forgive`](Self::forgive). A permit that is dropped without a word, as when
/// a future is cancelled, is forgiven; unless its thread is panicking, which
/// counts as a failure. What is said of a call that was admitted before the
/// breaker changed its state is ignored.
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

    /// The call succeeded.
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
            breaker.report(tag, Verdict::Success);
        }
    }

    /// The call failed in a way that tells of the health of what was called.
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
        breaker.fail(tag);
    }

    /// Nothing can be said: the call failed for a reason of its own, such as
    /// a 404, or was never made.
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
        if !tag.is_closed() {
            breaker.report(tag, Verdict::None);
        }
    }

    #[inline]
    fn into_parts(self) -> (&'a CircuitBreaker, Tag) {
        let parts = (self.breaker, self.tag);
        mem::forget(self);
        parts
    }
}

impl Drop for Permit<'_> {
    // Out of line: it is part of the drop of every future that holds a permit.
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        let verdict = if std::thread::panicking() { Verdict::Failure } else { Verdict::None };
        self.breaker.report(self.tag, verdict);
    }
}

impl fmt::Debug for Permit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("breaker", &self.breaker.name()).finish_non_exhaustive()
    }
}
