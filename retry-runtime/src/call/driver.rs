//! [`Call`]: the steps of a call that is more than plain attempts.
//!
//! The expansions of the attribute and [`Retrier`](crate::Retrier) both drive it:
//!
//! ```text
//! loop {
//!     admit ─ Err ─▶ refused ─ Wait ─▶ wait      (GiveUp ─▶ last_or)
//!     attempt                                    (borrows `timer`; `session` stays free)
//!     success ─▶ succeeded
//!     failed  ─ Wait ─▶ keep, wait               (GiveUp ─▶ end)
//! }
//! ```
//!
//! The context is passed to each step instead of stored: it may borrow a `self` that is not `Sync`,
//! and a call is held across attempts. Every step that ends the call consumes it.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use crate::base::clock::{self, Instant};
use crate::call::attempt_limit::CallTiming;
use crate::call::call_context::CallContext;
use crate::call::hedge::report::HedgeReport;
use crate::call::last_failure::{FailureSlot, Keeps, LastFailure};
use crate::call::session::{Next, Session, Verdict};
use crate::outcome::error::{Ended, Interrupted};
use crate::protect::breaker::{Admission, CircuitBreaker, Permit, StagePass};
use crate::protect::quota::{Reservation, RetryQuota};
use crate::site::Origin;

/// A call with protection, time limits, hedges or a policy evaluated at runtime.
#[derive(Debug)]
pub struct Call<K, T> {
    /// The progress of the call.
    pub session: Session<K>,
    /// The time limits of the call and its attempts.
    pub timer: T,
}

impl<K, T: Default> Default for Call<K, T> {
    fn default() -> Self {
        Self { session: Session::new(), timer: T::default() }
    }
}

impl<K, T> Call<K, T> {
    /// Creates a call that begins now.
    #[inline(always)]
    pub const fn new(timer: T) -> Self {
        Self { session: Session::new(), timer }
    }
}

impl<K: FailureSlot, T: CallTiming> Call<K, T> {
    /// Decides what follows after the breaker has rejected the next attempt.
    #[cold]
    #[inline(never)]
    pub fn refused(&mut self, context: CallContext<'_>, rejected: &Interrupted) -> Next {
        self.session.refused(&context.timing(self.timer.timing()), rejected)
    }

    /// Ends the call after an attempt that succeeded.
    #[inline(always)]
    pub fn succeeded<'o>(self, origin: impl Into<Origin<'o>>) {
        self.session.succeeded(origin);
    }

    /// Like [`succeeded`](Self::succeeded), with a quota that pays for retries.
    #[inline(always)]
    pub fn succeeded_with_quota<'o>(self, origin: impl Into<Origin<'o>>, quota: &RetryQuota) {
        self.session.succeeded_with_quota(origin, quota);
    }

    /// Decides what follows after an attempt that failed.
    #[cold]
    #[inline(never)]
    pub fn failed(
        &mut self,
        context: CallContext<'_>,
        permit: Option<Permit<'_>>,
        verdict: Verdict<'_>,
    ) -> Next {
        self.session.failed(&context.timing(self.timer.timing()), permit, verdict)
    }

    /// Returns the outcome of a hedged attempt: if a time limit has ended the attempt after one of
    /// its members failed, the failure of that member.
    #[inline]
    pub fn hedged<R>(&mut self, outcome: R, report: &mut HedgeReport<R>) -> R {
        match self.timer.timing().timed_out {
            Some(_) => self.failure_before_limit(report).unwrap_or(outcome),
            None => outcome,
        }
    }

    /// Takes the last failure of an attempt that a time limit has ended. It replaces the failures
    /// of earlier attempts.
    #[cold]
    #[inline(never)]
    pub(crate) fn failure_before_limit<R>(&mut self, report: &mut HedgeReport<R>) -> Option<R> {
        let last = report.take_last()?;
        self.session.forget_failure();
        Some(last)
    }

    /// Keeps a failure that will be retried, if the call may end before another attempt fails.
    #[cold]
    #[inline(never)]
    pub fn keep<R>(&mut self, outcome: R)
    where
        K: Keeps<R>,
    {
        if let Some(kept) = self.session.kept() {
            kept.keep(outcome);
        }
    }

    /// Returns the outcome of a call that has given up. If the deadline has ended the last
    /// attempt, that is the failure before it, which is more informative.
    #[cold]
    #[inline(never)]
    pub fn end<R>(self, outcome: R) -> R
    where
        K: Keeps<R>,
    {
        let is_late = self.timer.timing().is_late();
        let kept = self.session.close();
        if is_late { kept.last_or_else(|| outcome) } else { outcome }
    }

    /// Returns the outcome of a call that the breaker has ended: the last failure, or `interrupted`
    /// of the rejection if no attempt was made.
    #[cold]
    #[inline(never)]
    pub fn last_or<R>(self, rejected: Interrupted, interrupted: fn(Interrupted) -> R) -> R
    where
        K: Keeps<R>,
    {
        self.session.close().last_or_else(|| interrupted(rejected))
    }

    /// Waits as decided, or until `awaited`, the breaker that has rejected the call, admits it.
    /// If the wait is dropped, `quota` gets back what it has lent for the retry.
    pub fn wait<'a>(
        &'a mut self,
        quota: Option<&'a RetryQuota>,
        awaited: Option<&'a CircuitBreaker>,
    ) -> CallWait<'a, K> {
        let terms = WaitTerms::new(&self.session, quota, awaited);
        CallWait { session: &mut self.session, terms }
    }

    /// Like [`wait`](Self::wait), but blocks the thread.
    pub fn wait_blocking<'o>(
        &mut self,
        origin: impl Into<Origin<'o>>,
        awaited: Option<&CircuitBreaker>,
    ) {
        match awaited {
            Some(breaker) => {
                let admission = breaker.admission(self.session.stage_pass());
                self.session.wait_blocking_until(origin, admission);
            }
            None => self.session.wait_blocking(origin),
        }
    }
}

impl<R, T: CallTiming> Call<LastFailure<R>, T> {
    /// Ends the call that was cancelled during a wait, after a failure or after the rejection
    /// `rejected`.
    #[cold]
    pub fn cancelled(self, context: CallContext<'_>, rejected: Option<R>) -> (R, Ended) {
        let ended = self.session.cancelled(&context.timing(self.timer.timing()));
        let none = || unreachable!("a failure that is retried is kept during the wait");
        (self.session.close().last_or_else(|| rejected.unwrap_or_else(none)), ended)
    }

    /// Takes the outcome of a call that is cancelled before an attempt: the last failure, or
    /// `other`.
    #[cold]
    pub fn take_last_or(&mut self, other: Option<R>) -> Option<R> {
        self.session.take_last_or(other)
    }

    /// Ends the call that was cancelled before an attempt.
    #[cold]
    pub fn cancelled_before_attempt(self, context: CallContext<'_>) -> Ended {
        let ended = self.session.cancelled_before_attempt(&context.timing(self.timer.timing()));
        let _ = self.session.close();
        ended
    }
}

pin_project_lite::pin_project! {
    /// The admission by a breaker that has rejected the call.
    struct Awaited<'a> {
        #[pin]
        admission: Admission<'a>,
        began: Instant,
    }
}

impl<'a> Awaited<'a> {
    #[cold]
    fn new(breaker: &'a CircuitBreaker, pass: StagePass) -> Self {
        Self { admission: breaker.admission(pass), began: clock::now() }
    }
}

/// The terms of a wait: the quota that has paid for the retry, and the breaker that may end it.
pub(crate) struct WaitTerms<'a> {
    // `None` once the wait has ended. If dropped before that, the quota gets it back.
    reservation: Option<Reservation<'a>>,
    // Boxed, to keep the futures of calls small: few of them ever wait like this.
    admission: Option<Pin<Box<Awaited<'a>>>>,
}

impl<'a> WaitTerms<'a> {
    /// The terms of a wait that nothing paid for, and nothing ends.
    pub(crate) const NONE: Self = Self { reservation: None, admission: None };

    /// Creates the terms of a wait of `session` that begins now.
    pub(crate) fn new<K>(
        session: &Session<K>,
        quota: Option<&'a RetryQuota>,
        awaited: Option<&'a CircuitBreaker>,
    ) -> Self {
        let reservation = quota.map(|quota| Reservation::of(quota, session.credit()));
        let awaited = awaited.map(|breaker| Awaited::new(breaker, session.stage_pass()));
        let admission = awaited.map(Box::pin);
        Self { reservation, admission }
    }

    /// Polls the wait of `session`.
    pub(crate) fn poll<K>(&mut self, session: &mut Session<K>, cx: &mut Context<'_>) -> Poll<()> {
        let admitted = self.admission.as_mut().and_then(|awaited| {
            let awaited = awaited.as_mut().project();
            awaited.admission.poll(cx).is_ready().then_some(*awaited.began)
        });
        match admitted {
            Some(began) => {
                session.wait_ended_after(clock::now().saturating_duration_since(began));
            }
            None => ready!(session.poll_wait(cx)),
        }
        self.end();
        Poll::Ready(())
    }

    /// Ends the wait: the reservation is spent, because the retry is made.
    pub(crate) fn end(&mut self) {
        self.reservation.take().map(Reservation::spend);
        self.admission = None;
    }
}

/// The future of a wait that a quota has paid for, or that a breaker may end.
#[must_use = "a wait does nothing until it is awaited"]
pub struct CallWait<'a, K> {
    session: &'a mut Session<K>,
    terms: WaitTerms<'a>,
}

impl<K> Future for CallWait<'_, K> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.terms.poll(this.session, cx)
    }
}

impl<K> fmt::Debug for CallWait<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallWait").finish_non_exhaustive()
    }
}
