//! Cutting attempts off: `timeout` bounds one attempt, `deadline` the whole call.
//!
//! A policy without either pays nothing: the expansion does not come here, or,
//! where only a shared policy knows, comes to [`Uncut`].

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use retry_policy::Policy;
use tokio::time::Sleep;

use crate::Interrupted;
use crate::clock::{self, Instant};
use crate::outcome::Interruptible;
use crate::plan::{CutBy, Timing};

/// How the attempts of a call with outcomes `R` are cut off.
pub trait Cutting<R> {
    /// An attempt that may be cut off.
    type Attempt<'a, F: Future<Output = R>>: Future<Output = R>
    where
        Self: 'a;

    /// Bounds one attempt.
    fn attempt<'a, F: Future<Output = R>>(
        &'a mut self,
        policy: &Policy,
        attempt: F,
    ) -> Self::Attempt<'a, F>;
}

/// What the session has to know of the time.
pub trait CutTiming {
    /// When the call began, and whether the deadline has cut it off.
    fn timing(&self) -> Timing;
}

/// Attempts are never cut off.
#[derive(Clone, Copy, Debug)]
pub struct Uncut;

impl Uncut {
    /// A call begins.
    #[inline(always)]
    pub const fn start(_: &Policy) -> Self {
        Self
    }
}

impl<R> Cutting<R> for Uncut {
    type Attempt<'a, F: Future<Output = R>> = F;

    #[inline(always)]
    fn attempt<F: Future<Output = R>>(&mut self, _: &Policy, attempt: F) -> F {
        attempt
    }
}

impl CutTiming for Uncut {
    #[inline(always)]
    fn timing(&self) -> Timing {
        Timing::NONE
    }
}

/// Attempts are cut off by a timeout, a deadline, or both.
#[derive(Clone, Copy, Debug)]
pub struct Cut(Timing);

impl Cut {
    /// A call begins: the deadline counts from here.
    pub fn start(policy: &Policy) -> Self {
        Self(Timing::start(policy))
    }

    /// The bound that is reached first, and what to say then.
    fn bound(&self, policy: &Policy) -> Option<(Instant, Interrupted)> {
        let timeout = policy.get_timeout().and_then(|limit| {
            Some((clock::after(clock::now(), limit)?, Interrupted::Timeout { limit }))
        });
        let deadline = policy.get_deadline().zip(self.0.started).and_then(|(limit, started)| {
            Some((clock::after(started, limit)?, Interrupted::Deadline { limit }))
        });
        match (timeout, deadline) {
            (Some(timeout), Some(deadline)) if timeout.0 < deadline.0 => Some(timeout),
            (timeout, deadline) => deadline.or(timeout),
        }
    }
}

impl<R: Interruptible> Cutting<R> for Cut {
    type Attempt<'a, F: Future<Output = R>> = Bounded<'a, F>;

    fn attempt<'a, F: Future<Output = R>>(
        &'a mut self,
        policy: &Policy,
        attempt: F,
    ) -> Bounded<'a, F> {
        let (sleep, interrupted) = match self.bound(policy) {
            Some((at, interrupted)) => (Some(tokio::time::sleep_until(at)), Some(interrupted)),
            // So far ahead that no clock can say it: never.
            None => (None, None),
        };
        self.0.cut = None;
        Bounded { attempt, sleep, interrupted, cut: &mut self.0.cut, outcome: R::interrupted }
    }
}

impl CutTiming for Cut {
    fn timing(&self) -> Timing {
        self.0
    }
}

pin_project_lite::pin_project! {
    /// An attempt with a bound.
    #[derive(Debug)]
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct Bounded<'a, F: Future> {
        #[pin]
        attempt: F,
        #[pin]
        sleep: Option<Sleep>,
        interrupted: Option<Interrupted>,
        cut: &'a mut Option<CutBy>,
        // Kept, and not asked of `R` when it is polled: a return type that cannot
        // say it would be told so twice, by the call and by the `.await`.
        outcome: fn(Interrupted) -> F::Output,
    }
}

impl<F: Future> Future for Bounded<'_, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        // The attempt first: one that is ready in time has made it.
        if let Poll::Ready(outcome) = this.attempt.poll(cx) {
            return Poll::Ready(outcome);
        }
        let (Some(sleep), Some(interrupted)) = (this.sleep.as_pin_mut(), *this.interrupted) else {
            return Poll::Pending;
        };
        ready!(sleep.poll(cx));
        **this.cut = Some(match interrupted {
            Interrupted::Deadline { .. } => CutBy::Deadline,
            _ => CutBy::Timeout,
        });
        Poll::Ready((this.outcome)(interrupted))
    }
}

/// What only a shared policy knows, as a type.
#[derive(Debug)]
pub struct Is<const ANSWER: bool>;

/// Whether attempts are cut off.
pub trait PickCut {
    /// [`Cut`] or [`Uncut`].
    type Cut;
}

impl PickCut for Is<true> {
    type Cut = Cut;
}

impl PickCut for Is<false> {
    type Cut = Uncut;
}
