//! Cuts attempts off: `timeout` bounds one attempt, `deadline` the whole call.
//!
//! A policy without either pays nothing: the expansion does not come here, or,
//! where only a shared policy knows, comes to [`Untimed`], or to [`Clocked`] if it has a
//! `max_elapsed`.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use tokio::time::Sleep;

use crate::base::clock::{self, Instant};
use crate::call::plan::{LimitKind, Plan, Timing};
use crate::outcome::Interruptible;
use crate::outcome::error::Interrupted;

/// How the attempts of a call with outcomes `R` are cut off.
pub trait AttemptTimer<R> {
    /// An attempt that may be cut off.
    type Attempt<'a, F: Future<Output = R>>: Future<Output = R>
    where
        Self: 'a;

    /// Bounds one attempt.
    fn attempt<F: Future<Output = R>>(&mut self, attempt: F) -> Self::Attempt<'_, F>;
}

/// What the session has to know of the time.
pub trait CallTiming {
    /// When the call began, and whether the deadline has cut it off.
    fn timing(&self) -> Timing;
}

/// Attempts are never cut off.
#[derive(Clone, Copy, Debug)]
pub struct Untimed;

impl Untimed {
    /// A call begins.
    #[inline(always)]
    pub const fn start(_: &Plan<'_>) -> Self {
        Self
    }
}

impl<R> AttemptTimer<R> for Untimed {
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

/// Attempts are never cut off, but the time since the call began is known.
#[derive(Clone, Copy, Debug)]
pub struct Clocked(Timing);

impl Clocked {
    /// A call begins.
    pub fn start(plan: &Plan<'_>) -> Self {
        Self(Timing::start(plan))
    }
}

impl<R> AttemptTimer<R> for Clocked {
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

/// What an attempt is to be cut off by, and how long that allows.
#[derive(Clone, Copy, Debug)]
struct Bound {
    by: LimitKind,
    limit: Duration,
}

/// Attempts are cut off by a timeout, a deadline, or both.
///
/// The bounds are those that hold when the call begins.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    timing: Timing,
    timeout: Option<Duration>,
}

impl Timed {
    /// A call begins: the deadline counts from here.
    pub fn start(plan: &Plan<'_>) -> Self {
        let policy = plan.obeyed();
        Self { timing: Timing::of(&policy), timeout: policy.get_timeout() }
    }

    /// Bounds one attempt, and leaves it to the caller to tell that it was [cut](Self::has_cut).
    pub(crate) fn cut_off<F>(&mut self, attempt: F) -> CutOff<F> {
        let (sleep, bound) = match self.bound() {
            Some((at, bound)) => (Some(tokio::time::sleep_until(at)), Some(bound)),
            // So far ahead that no clock can say it: never.
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

    /// The bound that is reached first, and what to say then.
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

impl<R: Interruptible> AttemptTimer<R> for Timed {
    type Attempt<'a, F: Future<Output = R>> = Bounded<'a, F>;

    fn attempt<F: Future<Output = R>>(&mut self, attempt: F) -> Bounded<'_, F> {
        let attempt = self.cut_off(attempt);
        Bounded { attempt, cut: &mut self.timing.cut, outcome: R::interrupted }
    }
}

impl CallTiming for Timed {
    fn timing(&self) -> Timing {
        self.timing
    }
}

pin_project_lite::pin_project! {
    /// An attempt with a bound.
    #[derive(Debug)]
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct CutOff<F> {
        #[pin]
        attempt: F,
        #[pin]
        sleep: Option<Sleep>,
        bound: Option<Bound>,
    }
}

impl<F: Future> Future for CutOff<F> {
    type Output = Result<F::Output, (LimitKind, Interrupted)>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        // The attempt first: one that is ready in time has made it.
        if let Poll::Ready(outcome) = this.attempt.poll(cx) {
            return Poll::Ready(Ok(outcome));
        }
        let (Some(sleep), Some(Bound { by, limit })) = (this.sleep.as_pin_mut(), *this.bound)
        else {
            return Poll::Pending;
        };
        ready!(sleep.poll(cx));
        let interrupted = match by {
            LimitKind::Timeout => Interrupted::Timeout { limit },
            LimitKind::Deadline => Interrupted::Deadline { limit },
        };
        Poll::Ready(Err((by, interrupted)))
    }
}

pin_project_lite::pin_project! {
    /// The same with an outcome of the attempt's own.
    #[derive(Debug)]
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct Bounded<'a, F: Future> {
        #[pin]
        attempt: CutOff<F>,
        cut: &'a mut Option<LimitKind>,
        // Kept, and not asked of `R` when it is polled: a return type that cannot
        // represent that would be reported twice, at the call and at the `.await`.
        outcome: fn(Interrupted) -> F::Output,
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

/// What only a shared policy knows, as a type.
#[derive(Debug)]
pub struct Is<const ANSWER: bool>;

/// Whether attempts are cut off, and whether there is a time after which none begins.
pub trait PickTimer {
    /// [`Timed`], [`Clocked`] or [`Untimed`].
    type Timer;
}

impl<const HAS_MAX_ELAPSED: bool> PickTimer for (Is<true>, Is<HAS_MAX_ELAPSED>) {
    type Timer = Timed;
}

impl PickTimer for (Is<false>, Is<true>) {
    type Timer = Clocked;
}

impl PickTimer for (Is<false>, Is<false>) {
    type Timer = Untimed;
}
