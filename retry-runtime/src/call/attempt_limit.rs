//! Limits on the time of attempts: `timeout` bounds one attempt, `deadline` the whole call.
//!
//! A policy with neither pays nothing: the expansion does not use this module, or, where only a
//! shared policy knows, uses [`Untimed`], or [`Timing`] if there is a `max_elapsed`.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use retry_rules::Policy;
use tokio::task::coop::{Unconstrained, unconstrained};

use crate::base::clock::{self, Instant};
use crate::base::timer::{self, Sleep};
use crate::call::call_context::{CallContext, LimitKind, Timing};
use crate::call::last_failure::{LastFailure, NoFailure};
use crate::event::warning::Warning;
use crate::observe;
use crate::outcome::Interruptible;
use crate::outcome::interrupted::Interrupted;

/// The times that the session needs.
pub trait CallTiming {
    /// Returns when the call began, and the limit that has ended its last attempt.
    fn timing(&self) -> Timing;
}

impl<T: CallTiming> CallTiming for Option<Box<T>> {
    #[inline]
    fn timing(&self) -> Timing {
        self.as_ref().map_or(Timing::NONE, |timer| timer.timing())
    }
}

/// Limits the attempts of a call.
pub trait LimitAttempts {
    /// An attempt that may time out.
    type Attempt<F: Future>: Future<Output = Self::Limited<F::Output>>;
    /// The outcome of such an attempt.
    type Limited<T>;

    /// Limits one attempt.
    fn attempt<F: Future>(&self, attempt: F) -> Self::Attempt<F>;
}

/// Turns the end of an attempt into its outcome, an `R`. Apart from `LimitAttempts`: an `R` that
/// cannot represent an interruption would be reported there again.
pub trait LimitOutcome<R>: LimitAttempts {
    /// Records whether the attempt has timed out, and returns its outcome.
    fn outcome(&mut self, limited: Self::Limited<R>) -> R;
}

/// Implements a timer whose attempts never time out.
macro_rules! never_times_out {
    ($timer:ty, $timing:expr) => {
        impl CallTiming for $timer {
            #[inline(always)]
            fn timing(&self) -> Timing {
                $timing(self)
            }
        }

        impl LimitAttempts for $timer {
            type Attempt<F: Future> = F;
            type Limited<T> = T;

            #[inline(always)]
            fn attempt<F: Future>(&self, attempt: F) -> F {
                attempt
            }
        }

        impl<R> LimitOutcome<R> for $timer {
            #[inline(always)]
            fn outcome(&mut self, outcome: R) -> R {
                outcome
            }
        }
    };
}

/// No limits on time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untimed;

impl Untimed {
    /// Starts a call.
    #[inline(always)]
    pub const fn start(_: &CallContext<'_>) -> Self {
        Self
    }
}

never_times_out!(Untimed, |_| Timing::NONE);
never_times_out!(Timing, |timing: &Self| *timing);

/// A `timeout`, a `deadline` or both, as they were when the call started.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    timing: Timing,
    timeout: Option<Duration>,
}

impl CallLimits {
    /// Starts a call; the deadline counts from here.
    pub fn start(context: &CallContext<'_>) -> Self {
        Self::of(&context.effective_policy())
    }

    /// Starts a call whose effective policy is `policy`.
    pub(crate) fn of(policy: &Policy) -> Self {
        Self { timing: Timing::of(policy, true), timeout: policy.get_timeout() }
    }

    /// The deadline is only checked between attempts.
    pub(crate) fn cannot_cut(&mut self) {
        self.timing.can_cut = false;
    }

    /// No limits.
    pub(crate) const NONE: Self = Self { timing: Timing::NONE, timeout: None };

    /// Returns the end of the last attempt by its limit.
    pub(crate) fn interrupted(&self) -> Interrupted {
        match (self.timing.timed_out, self.timing.deadline()) {
            (Some(LimitKind::Deadline), Some((_, limit))) => Interrupted::Deadline { limit },
            _ => Interrupted::Timeout { limit: self.timeout.unwrap_or_default() },
        }
    }

    /// Records which limit has ended the last attempt.
    pub(crate) fn set_timed_out(&mut self, kind: Option<LimitKind>) {
        self.timing.timed_out = kind;
    }

    /// The limit that is reached first, and when. `None` if it is beyond what the clock can represent.
    pub(crate) fn next(&self) -> Option<(Instant, LimitKind)> {
        let timeout = self.timeout.and_then(|limit| clock::after(clock::now(), limit));
        let deadline = self.timing.deadline().and_then(|(at, _)| at);
        match (timeout, deadline) {
            (Some(timeout), Some(deadline)) if timeout > deadline => {
                Some((deadline, LimitKind::Deadline))
            }
            (Some(timeout), _) => Some((timeout, LimitKind::Timeout)),
            (None, deadline) => Some((deadline?, LimitKind::Deadline)),
        }
    }

    /// Records whether the attempt has timed out.
    fn record<T>(&mut self, limited: &Result<T, LimitKind>) {
        self.set_timed_out(limited.as_ref().err().copied());
    }
}

impl CallTiming for CallLimits {
    fn timing(&self) -> Timing {
        self.timing
    }
}

impl LimitAttempts for CallLimits {
    type Attempt<F: Future> = AttemptLimit<F, Limit>;
    type Limited<T> = Result<T, LimitKind>;

    #[inline(always)]
    fn attempt<F: Future>(&self, attempt: F) -> Self::Attempt<F> {
        AttemptLimit { attempt, limit: self.next().map(Limit::new) }
    }
}

impl<R: Interruptible> LimitOutcome<R> for CallLimits {
    #[inline]
    fn outcome(&mut self, limited: Result<R, LimitKind>) -> R {
        self.record(&limited);
        limited.unwrap_or_else(|_| R::interrupted(self.interrupted()))
    }
}

/// The limits of a call for which it is known only at runtime whether there are any.
pub struct RuntimeLimits<R> {
    limits: CallLimits,
    // `None`: the return type cannot represent an interruption, so no attempt times out.
    interrupted: Option<fn(Interrupted) -> R>,
}

impl<R> RuntimeLimits<R> {
    /// Starts a call with time limits, whose interrupted attempts return `interrupted(…)`. Without
    /// it, a deadline takes effect only between attempts, and a timeout not at all. On the heap,
    /// because the limits are larger than all the rest.
    #[cold]
    pub fn start(
        context: &CallContext<'_>,
        interrupted: Option<fn(Interrupted) -> R>,
    ) -> Option<Box<Self>> {
        let mut limits = CallLimits::start(context);
        if interrupted.is_none() {
            limits.cannot_cut();
            if let Some(timeout) = limits.timeout {
                let name = context.origin.name;
                observe::warn_once(Warning::TimeoutNotObeyed { name, timeout });
            }
        }
        Some(Box::new(Self { limits, interrupted }))
    }

    #[cold]
    fn next(&self) -> Option<Pin<Box<Limit>>> {
        self.interrupted?;
        self.limits.next().map(|next| Box::pin(Limit::new(next)))
    }
}

impl<R> CallTiming for RuntimeLimits<R> {
    fn timing(&self) -> Timing {
        self.limits.timing
    }
}

impl<R> LimitAttempts for Option<Box<RuntimeLimits<R>>> {
    type Attempt<F: Future> = AttemptLimit<F, Pin<Box<Limit>>>;
    type Limited<T> = Result<T, LimitKind>;

    #[inline(always)]
    fn attempt<F: Future>(&self, attempt: F) -> Self::Attempt<F> {
        AttemptLimit { attempt, limit: self.as_ref().and_then(|limits| limits.next()) }
    }
}

impl<R> LimitOutcome<R> for Option<Box<RuntimeLimits<R>>> {
    #[inline(always)]
    fn outcome(&mut self, limited: Result<R, LimitKind>) -> R {
        if let Some(RuntimeLimits { limits, interrupted }) = self.as_deref_mut() {
            limits.record(&limited);
            if let (Err(_), Some(interrupted)) = (&limited, interrupted) {
                return interrupted(limits.interrupted());
            }
        }
        limited.unwrap_or_else(|_| unreachable!("an attempt without limits has no end of theirs"))
    }
}

pin_project_lite::pin_project! {
    /// The limit of one attempt.
    pub struct Limit {
        // Unconstrained: an attempt that uses up the cooperative budget of the task in each poll
        // would otherwise keep the limit from ever firing.
        #[pin]
        sleep: Unconstrained<Sleep>,
        kind: LimitKind,
    }
}

impl Limit {
    #[inline(always)]
    fn new((at, kind): (Instant, LimitKind)) -> Self {
        Self { sleep: unconstrained(timer::sleep_until(at)), kind }
    }
}

impl Future for Limit {
    type Output = LimitKind;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<LimitKind> {
        let this = self.project();
        this.sleep.poll(cx).map(|()| *this.kind)
    }
}

pin_project_lite::pin_project! {
    /// An attempt that may have a limit.
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct AttemptLimit<F, L> {
        #[pin]
        attempt: F,
        #[pin]
        limit: Option<L>,
    }
}

impl<F: Future, L: Future<Output = LimitKind>> Future for AttemptLimit<F, L> {
    type Output = Result<F::Output, LimitKind>;

    /// Polls the attempt, and then the limit: an attempt that is ready was in time.
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(outcome) = this.attempt.poll(cx) {
            return Poll::Ready(Ok(outcome));
        }
        let Some(limit) = this.limit.as_pin_mut() else { return Poll::Pending };
        limit.poll(cx).map(Err)
    }
}

/// A property known only to a shared policy, as a type.
pub struct Is<const ANSWER: bool>;

/// Chooses between two types by such a property.
pub trait Choose {
    /// `A` if it holds, else `B`.
    type Of<A, B>;
    /// [`LastFailure`] if it holds, else [`NoFailure`].
    type Slot<R>;
}

impl Choose for Is<true> {
    type Of<A, B> = A;
    type Slot<R> = LastFailure<R>;
}

impl Choose for Is<false> {
    type Of<A, B> = B;
    type Slot<R> = NoFailure<R>;
}
