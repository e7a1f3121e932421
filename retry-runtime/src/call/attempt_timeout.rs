//! Cuts attempts off: `timeout` bounds one attempt, `deadline` the whole call.
//!
//! A policy with neither pays nothing: the expansion does not use this module, or, where only a
//! shared policy knows, uses [`Untimed`], or [`Clocked`] if there is a limit such as `max_elapsed`.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use tokio::task::coop::{Unconstrained, unconstrained};

use crate::base::clock::{self, Instant};
use crate::base::timer::{self, Sleep};
use crate::call::call_context::{CallContext, LimitKind, Timing};
use crate::outcome::Interruptible;
use crate::outcome::error::Interrupted;

/// Cuts off the attempts of a call whose outcomes are `R`.
pub trait AttemptTimeout<R> {
    /// An attempt that may be cut off.
    type Attempt<'a, F: Future<Output = R>>: Future<Output = R>
    where
        Self: 'a;

    /// Bounds one attempt.
    fn attempt<F: Future<Output = R>>(&mut self, attempt: F) -> Self::Attempt<'_, F>;
}

/// The times that the session needs.
pub trait CallTiming {
    /// Returns when the call began, and whether the deadline has cut it off.
    fn timing(&self) -> Timing;
}

/// Attempts are never cut off.
#[derive(Clone, Copy, Debug)]
pub struct Untimed;

impl Untimed {
    /// Starts a call.
    #[inline(always)]
    pub const fn start(_: &CallContext<'_>) -> Self {
        Self
    }
}

impl<R> AttemptTimeout<R> for Untimed {
    type Attempt<'a, F: Future<Output = R>> = F;

    #[inline(always)]
    fn attempt<F: Future<Output = R>>(&mut self, attempt: F) -> F {
        attempt
    }
}

impl CallTiming for Untimed {
    #[inline(always)]
    fn timing(&self) -> Timing {
        Timing::NONE
    }
}

/// Attempts are never cut off, but the start of the call is recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocked(Timing);

impl Clocked {
    /// The timer of a call whose time is not checked.
    pub const UNTIMED: Self = Self(Timing::NONE);

    /// Starts a call.
    pub fn start(context: &CallContext<'_>) -> Self {
        Self(Timing::start(context))
    }
}

impl<R> AttemptTimeout<R> for Clocked {
    type Attempt<'a, F: Future<Output = R>> = F;

    #[inline(always)]
    fn attempt<F: Future<Output = R>>(&mut self, attempt: F) -> F {
        attempt
    }
}

impl CallTiming for Clocked {
    #[inline(always)]
    fn timing(&self) -> Timing {
        self.0
    }
}

/// The limit that cuts an attempt off, and its length.
#[derive(Clone, Copy, Debug)]
struct Bound {
    by: LimitKind,
    limit: Duration,
}

/// Attempts are cut off by a timeout, a deadline, or both.
///
/// The limits are those in force when the call starts.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    timing: Timing,
    timeout: Option<Duration>,
}

impl Timed {
    /// Starts a call; the deadline counts from here.
    pub fn start(context: &CallContext<'_>) -> Self {
        let policy = context.effective_policy();
        Self { timing: Timing::of(&policy), timeout: policy.get_timeout() }
    }

    /// Bounds one attempt, and leaves it to the caller to record that it was cut off with
    /// [`has_cut`](Self::has_cut).
    pub(crate) fn cut_off<F>(&mut self, attempt: F) -> CutOff<F> {
        let (sleep, bound) = match self.bound() {
            Some((at, bound)) => (Some(unconstrained(timer::sleep_until(at))), Some(bound)),
            // Beyond what the clock can represent: never.
            None => (None, None),
        };
        self.timing.cut = None;
        CutOff { attempt, sleep, bound }
    }

    pub(crate) const fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    pub(crate) fn has_cut(&mut self, by: LimitKind) {
        self.timing.cut = Some(by);
    }

    /// The limit that is reached first, and when.
    fn bound(&self) -> Option<(Instant, Bound)> {
        let timeout = self.timeout.and_then(|limit| {
            Some((clock::after(clock::now(), limit)?, Bound { by: LimitKind::Timeout, limit }))
        });
        let deadline = self
            .timing
            .deadline()
            .and_then(|(at, limit)| Some((at?, Bound { by: LimitKind::Deadline, limit })));
        match (timeout, deadline) {
            (Some(timeout), Some(deadline)) if timeout.0 <= deadline.0 => Some(timeout),
            (timeout, deadline) => deadline.or(timeout),
        }
    }
}

impl<R: Interruptible> AttemptTimeout<R> for Timed {
    type Attempt<'a, F: Future<Output = R>> = Bounded<'a, F>;

    fn attempt<F: Future<Output = R>>(&mut self, attempt: F) -> Bounded<'_, F> {
        let attempt = self.cut_off(attempt);
        Bounded { attempt, cut: &mut self.timing.cut, outcome: R::interrupted }
    }
}

impl<T: CallTiming> CallTiming for Option<Box<T>> {
    #[inline]
    fn timing(&self) -> Timing {
        self.as_ref().map_or(Timing::NONE, |timer| timer.timing())
    }
}

impl CallTiming for Timed {
    fn timing(&self) -> Timing {
        self.timing
    }
}

pin_project_lite::pin_project! {
    /// An attempt with a limit.
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct CutOff<F> {
        #[pin]
        attempt: F,
        // Unconstrained: an attempt that uses up the cooperative budget of the task in each poll
        // would otherwise keep the limit from ever firing.
        #[pin]
        sleep: Option<Unconstrained<Sleep>>,
        bound: Option<Bound>,
    }
}

impl<F: Future> Future for CutOff<F> {
    type Output = Result<F::Output, (LimitKind, Interrupted)>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // The attempt first: if it is ready, it was in time.
        if let Poll::Ready(outcome) = self.as_mut().attempt().poll(cx) {
            return Poll::Ready(Ok(outcome));
        }
        self.poll_limit(cx).map(Err)
    }
}

impl<F> CutOff<F> {
    /// Returns the attempt without its limit.
    pub(crate) fn attempt(self: Pin<&mut Self>) -> Pin<&mut F> {
        self.project().attempt
    }

    /// Polls the limit alone.
    pub(crate) fn poll_limit(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<(LimitKind, Interrupted)> {
        let this = self.project();
        let (Some(sleep), Some(Bound { by, limit })) = (this.sleep.as_pin_mut(), *this.bound)
        else {
            return Poll::Pending;
        };
        ready!(sleep.poll(cx));
        let interrupted = match by {
            LimitKind::Timeout => Interrupted::Timeout { limit },
            LimitKind::Deadline => Interrupted::Deadline { limit },
        };
        Poll::Ready((by, interrupted))
    }
}

pin_project_lite::pin_project! {
    /// An attempt with a limit, with an interruption turned into an outcome of the attempt.
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct Bounded<'a, F: Future> {
        #[pin]
        attempt: CutOff<F>,
        cut: &'a mut Option<LimitKind>,
        // Stored here instead of called through `R` when polled: the compiler would report a return
        // type that cannot represent an interruption twice, at the call and at the `.await`.
        outcome: fn(Interrupted) -> F::Output,
    }
}

impl<F> fmt::Debug for CutOff<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CutOff").field("bound", &self.bound).finish_non_exhaustive()
    }
}

impl<F: Future> fmt::Debug for Bounded<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounded").field("attempt", &self.attempt).finish_non_exhaustive()
    }
}

impl<F: Future> Future for Bounded<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        Poll::Ready(match ready!(this.attempt.poll(cx)) {
            Ok(outcome) => outcome,
            Err((by, interrupted)) => {
                **this.cut = Some(by);
                (this.outcome)(interrupted)
            }
        })
    }
}

/// A property known only to a shared policy, as a type.
#[derive(Debug)]
pub struct Is<const ANSWER: bool>;

/// Picks a timer by whether attempts are cut off, and whether there is a limit that only reads the clock.
pub trait PickTimer {
    /// [`Timed`], [`Clocked`] or [`Untimed`].
    type Timer;
}

impl<const IS_CLOCKED: bool> PickTimer for (Is<true>, Is<IS_CLOCKED>) {
    type Timer = Timed;
}

impl PickTimer for (Is<false>, Is<true>) {
    type Timer = Clocked;
}

impl PickTimer for (Is<false>, Is<false>) {
    type Timer = Untimed;
}
