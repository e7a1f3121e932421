//! [`RuntimeTimer`]: cuts attempts off where it is known only at runtime whether any are to be.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use crate::call::attempt_timeout::{AttemptTimeout, CallTiming, CutOff, Timed};
use crate::call::call_context::{CallContext, Timing};
use crate::observe;
use crate::outcome::error::Interrupted;

/// The time limits of a call. On the heap, and only if there are any, because a timer is larger
/// than all the rest.
pub struct RuntimeTimer<R>(Option<Box<Bounds<R>>>);

struct Bounds<R> {
    timed: Timed,
    // `None`: the return type cannot represent an interruption, so no attempt is cut off.
    interrupted: Option<fn(Interrupted) -> R>,
}

impl<R> RuntimeTimer<R> {
    /// For a call without time limits.
    pub const UNTIMED: Self = Self(None);

    /// Starts a call with time limits, whose interrupted attempts return `interrupted(…)`. Without
    /// it, a deadline takes effect only between attempts, and a timeout not at all.
    #[cold]
    pub fn start(context: &CallContext<'_>, interrupted: Option<fn(Interrupted) -> R>) -> Self {
        let timed = Timed::start(context);
        if let (None, Some(timeout)) = (interrupted, timed.timeout()) {
            observe::timeout_not_obeyed(context.origin.name, timeout);
        }
        Self(Some(Box::new(Bounds { timed, interrupted })))
    }
}

impl<R> AttemptTimeout<R> for RuntimeTimer<R> {
    type Attempt<'a, F: Future<Output = R>>
        = RuntimeAttempt<'a, R, F>
    where
        R: 'a;

    #[inline(always)]
    fn attempt<F: Future<Output = R>>(&mut self, attempt: F) -> RuntimeAttempt<'_, R, F> {
        match &mut self.0 {
            Some(bounds) => bounds.bound(attempt),
            None => RuntimeAttempt::Unbounded { attempt },
        }
    }
}

impl<R> Bounds<R> {
    #[cold]
    fn bound<F: Future<Output = R>>(&mut self, attempt: F) -> RuntimeAttempt<'_, R, F> {
        match self.interrupted {
            Some(interrupted) => {
                let attempt = Box::pin(self.timed.cut_off(attempt));
                RuntimeAttempt::Bounded { attempt, timed: &mut self.timed, interrupted }
            }
            None => RuntimeAttempt::Unbounded { attempt },
        }
    }
}

impl<R> CallTiming for RuntimeTimer<R> {
    #[inline(always)]
    fn timing(&self) -> Timing {
        self.0.as_ref().map_or(Timing::NONE, |bounds| bounds.timed.timing())
    }
}

impl<R> fmt::Debug for RuntimeTimer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RuntimeTimer").field(&self.timing()).finish()
    }
}

pin_project_lite::pin_project! {
    /// An attempt that may have a limit.
    #[project = RuntimeAttemptProjection]
    #[must_use = "an attempt does nothing until it is awaited"]
    pub enum RuntimeAttempt<'a, R, F> {
        Unbounded {
            #[pin]
            attempt: F,
        },
        Bounded {
            attempt: Pin<Box<CutOff<F>>>,
            timed: &'a mut Timed,
            interrupted: fn(Interrupted) -> R,
        },
    }
}

impl<R, F: Future<Output = R>> Future for RuntimeAttempt<'_, R, F> {
    type Output = R;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        match self.project() {
            RuntimeAttemptProjection::Unbounded { attempt } => attempt.poll(cx),
            RuntimeAttemptProjection::Bounded { attempt, timed, interrupted } => {
                Poll::Ready(match ready!(attempt.as_mut().poll(cx)) {
                    Ok(outcome) => outcome,
                    Err((by, cut)) => {
                        timed.has_cut(by);
                        interrupted(cut)
                    }
                })
            }
        }
    }
}

impl<R, F> fmt::Debug for RuntimeAttempt<'_, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeAttempt").finish_non_exhaustive()
    }
}
