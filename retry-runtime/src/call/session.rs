//! The one state machine: what happens after an attempt.
//!
//! The attribute's expansion, the closure API and the workflow crate all drive it; async and sync
//! differ only in how they sleep. It is inert until something fails: a call that succeeds at its
//! first attempt allocates nothing, reads no clock and draws no random number.
//!
//! ```text
//! loop {
//!     admit   (breaker)   ─ rejected ──▶ end
//!     attempt
//!     success ────────────────────────▶ end
//!     failed  (Verdict)   ─ GiveUp ────▶ end
//!     wait
//! }
//! ```

mod call_progress;
mod verdict;

use core::future::Future;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use retry_rules::{Attempts, Fields, Policy};

use self::call_progress::CallProgress;
use crate::base::timer::{self, Sleep, Yielded};
use crate::call::async_sleep;
use crate::call::attempt::Attempt;
use crate::call::call_context::CallContext;
use crate::call::call_state::CallState;
use crate::call::last_failure::{FailureSlot, LastFailure};
use crate::event::retry_event::{Failure, RetryEvent};
use crate::outcome::error::{Ended, Interrupted};
use crate::outcome::past_failure::PastFailure;
use crate::protect::breaker::{CircuitBreaker, Permit, Rejected, StagePass};
use crate::protect::quota::{OnPanic, RetryQuota};
use crate::site::Origin;

pub use self::call_progress::Next;
pub(crate) use self::call_progress::succeeded_first_try;
pub(crate) use self::verdict::Judgement;
pub use self::verdict::{HintSource, Verdict};

/// One call: how many attempts it made, how long it waited, and, if `K` keeps it, the last failure.
///
/// One pointer wide, and null until the first wait.
#[derive(Debug)]
pub struct Session<K = ()> {
    waiting: Option<Pin<Box<WaitingCall<K>>>>,
}

pin_project_lite::pin_project! {
    /// The state of a session that has waited. The sleep and the last failure live inside, so that
    /// a call makes one allocation however often it waits.
    #[derive(Debug)]
    struct WaitingCall<K> {
        progress: CallProgress,
        kept: K,
        #[pin]
        sleep: Option<Sleep>,
        has_yielded: Yielded,
    }
}

impl<K> Default for Session<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Session<K> {
    /// A call that has made no attempt yet.
    #[inline(always)]
    pub const fn new() -> Self {
        Self { waiting: None }
    }

    /// The number of the attempt that is about to begin.
    #[inline(always)]
    pub fn number(&self) -> u32 {
        self.known().map_or(0, |progress| progress.made).saturating_add(1)
    }

    /// Returns whether an attempt has failed, so that the current one is a retry.
    #[inline(always)]
    pub fn is_retrying(&self) -> bool {
        self.known().is_some_and(|progress| progress.made > 0)
    }

    /// Acquires the breaker's permit for the attempt that is about to begin.
    ///
    /// # Errors
    /// [`Rejected`] as from [`CircuitBreaker::try_acquire`].
    #[inline(always)]
    pub fn try_acquire<'b>(&self, breaker: &'b CircuitBreaker) -> Result<Permit<'b>, Rejected> {
        breaker
            .admit_closed()
            .or_else(|packed| call_progress::acquire(breaker, packed, self.known()))
    }

    /// Returns the trace of the call's last attempt or refusal in a stage of its breaker.
    pub(crate) fn stage_pass(&self) -> StagePass {
        self.known().map_or(StagePass::NONE, CallProgress::stage_pass)
    }

    /// An attempt succeeded, and with it the call.
    #[inline(always)]
    pub fn succeeded<'o>(self, origin: impl Into<Origin<'o>>) {
        // By value: an option known to be `None` needs no drop.
        match self.waiting {
            Some(waiting) => waiting.progress.recovered(origin.into(), None),
            None => succeeded_first_try(origin),
        }
    }

    /// Like [`succeeded`](Self::succeeded), with a quota that pays for retries: a success at the
    /// first attempt refunds some of it.
    #[inline(always)]
    pub fn succeeded_with_quota<'o>(self, origin: impl Into<Origin<'o>>, quota: &RetryQuota) {
        match self.waiting {
            Some(waiting) => waiting.progress.recovered(origin.into(), Some(quota)),
            None => {
                quota.refund();
                succeeded_first_try(origin);
            }
        }
    }

    /// An attempt failed. The order of the decisions is the one that the
    /// documentation of `#[retry]` promises.
    #[cold]
    #[inline(never)]
    pub fn failed(
        &mut self,
        context: &CallContext<'_>,
        permit: Option<Permit<'_>>,
        verdict: Verdict<'_>,
    ) -> Next
    where
        K: FailureSlot,
    {
        match &mut self.waiting {
            Some(waiting) => waiting.as_mut().project().progress.failed(context, permit, &verdict),
            None => self.decide_first(|progress| progress.failed(context, permit, &verdict)),
        }
    }

    /// Takes the failures that the call has kept, before it ends.
    #[cold]
    #[inline(never)]
    pub fn take_history(&mut self) -> Vec<PastFailure> {
        match &mut self.waiting {
            Some(waiting) => waiting.as_mut().project().progress.take_history(),
            None => Vec::new(),
        }
    }

    /// The policy of the call, if it was evaluated at runtime after a failed attempt.
    pub fn policy(&self) -> Option<Policy> {
        self.known()?.policy()
    }

    fn progress(&self) -> &CallProgress {
        self.known().unwrap_or(const { &CallProgress::NOTHING })
    }

    /// The progress of a call that has waited.
    fn known(&self) -> Option<&CallProgress> {
        self.waiting.as_ref().map(|waiting| &waiting.progress)
    }

    /// Ends the call without success, and returns the failure that was kept. Because every way out
    /// consumes the session, the success path needs no drop flag.
    #[inline(always)]
    pub fn close(self) -> K
    where
        K: FailureSlot,
    {
        match self.waiting {
            Some(mut waiting) => waiting.as_mut().project().kept.take(),
            None => K::none(),
        }
    }

    /// The event to pass to `on_retry`, after a failure that will be retried.
    pub fn event<'e, E>(
        &self,
        context: &CallContext<'e>,
        failure: Failure<'e, E>,
    ) -> Announced<'e, E> {
        let progress = self.progress();
        let wait = progress.delay().unwrap_or_default();
        let event = RetryEvent {
            name: context.origin.name,
            attempt: progress.made,
            attempts: progress.forgiven().extends(context.effective_policy().get_attempts()),
            failure,
            wait,
            waited: progress.waited().saturating_sub(wait),
        };
        Announced { event, _credit: OnPanic::release(context.quota, progress.cost) }
    }

    /// The breaker did not admit the next attempt; the call waits for it if it may.
    #[cold]
    #[inline(never)]
    pub fn refused(&mut self, context: &CallContext<'_>, rejected: &Interrupted) -> Next
    where
        K: FailureSlot,
    {
        match &mut self.waiting {
            Some(waiting) => waiting.as_mut().project().progress.refused(context, rejected),
            None => self.decide_first(|progress| progress.refused(context, rejected)),
        }
    }

    /// The call was cancelled while it waited.
    #[cold]
    #[inline(never)]
    pub fn cancelled(&self, context: &CallContext<'_>) -> Ended {
        self.progress().cancelled(context)
    }

    /// The call was cancelled before the attempt that was about to begin.
    #[cold]
    #[inline(never)]
    pub fn cancelled_before_attempt(&self, context: &CallContext<'_>) -> Ended {
        self.progress().cancelled_before_attempt(context)
    }

    /// Decides for the first time whether the call goes on, and if so, or if it keeps its failures,
    /// stores its progress. Apart, because later decisions need no stack of their own.
    #[cold]
    #[inline(never)]
    fn decide_first(&mut self, decide: impl FnOnce(&mut CallProgress) -> Next) -> Next
    where
        K: FailureSlot,
    {
        let mut progress = CallProgress::NOTHING;
        let next = decide(&mut progress);
        if next == Next::Wait || progress.keeps_failures() {
            let kept = K::none();
            self.waiting = Some(Box::pin(WaitingCall {
                progress,
                kept,
                sleep: None,
                has_yielded: Yielded::default(),
            }));
        }
        next
    }

    /// The context passed to the body for the attempt that is about to begin.
    pub fn attempt(&self, context: &CallContext<'_>) -> Attempt {
        self.attempt_of(context.effective_policy().get_attempts())
    }

    /// Like [`attempt`](Self::attempt), for a policy known only at runtime, which may break rules.
    /// `written` are the fields set in the attribute.
    #[inline(always)]
    pub fn attempt_at_runtime(&self, context: &CallContext<'_>, written: Fields) -> Attempt {
        self.attempt_of(context.effective_policy().nearest_attempts(written))
    }

    fn attempt_of(&self, attempts: Attempts) -> Attempt {
        let Some(progress) = self.known() else {
            return Attempt::new(1, attempts, None, Duration::ZERO);
        };
        let attempts = match progress.forgiven().extends(attempts) {
            Attempts::Limited(attempts) => {
                Attempts::Limited(attempts.saturating_sub(progress.refusals()))
            }
            Attempts::Unlimited => Attempts::Unlimited,
        };
        Attempt::new(progress.made.saturating_add(1), attempts, progress.delay(), progress.waited())
    }

    /// Sleeps for the wait that has been decided.
    pub fn wait(&mut self) -> Wait<'_, K> {
        Wait { waiting: self.waiting.as_mut().map(Pin::as_mut) }
    }

    /// Like [`wait`](Self::wait), but blocks the thread. If the thread drives async tasks, a
    /// warning names the call.
    pub fn wait_blocking<'o>(&mut self, origin: impl Into<Origin<'o>>) {
        if let Some(waiting) = &mut self.waiting {
            let progress = waiting.as_mut().project().progress;
            crate::call::blocking::sleep(progress.wait(), origin.into().name);
            progress.attempt_begins();
        }
    }

    /// Like [`wait_blocking`](Self::wait_blocking), but no longer than until `event` is ready.
    pub(crate) fn wait_blocking_until<'o>(
        &mut self,
        origin: impl Into<Origin<'o>>,
        event: impl Future<Output = ()>,
    ) {
        let Some(waiting) = &mut self.waiting else { return };
        let limit = waiting.as_mut().project().progress.wait();
        match crate::call::blocking::sleep_until(event, limit, origin.into().name) {
            Some(slept) => self.wait_ended_after(slept),
            None => waiting.as_mut().project().progress.attempt_begins(),
        }
    }

    /// The wait under way has ended early: the rest of it was not waited.
    #[cold]
    pub(crate) fn wait_ended_after(&mut self, slept: Duration) {
        if let Some(waiting) = &mut self.waiting {
            let mut this = waiting.as_mut().project();
            this.sleep.set(None);
            this.progress.slept_only(slept);
            this.progress.attempt_begins();
        }
    }

    /// Like [`wait`](Self::wait), for a hand-written future.
    pub(crate) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.wait()).poll(cx)
    }

    /// The slot for the last failure, once the call has waited.
    pub(crate) fn kept(&mut self) -> Option<&mut K> {
        self.waiting.as_mut().map(|waiting| waiting.as_mut().project().kept)
    }

    /// Drops the last failure, and the wait that the server asked for with it.
    pub(crate) fn forget_failure(&mut self)
    where
        K: FailureSlot,
    {
        if let Some(waiting) = &mut self.waiting {
            let this = waiting.as_mut().project();
            let _ = this.kept.take();
            this.progress.set_asked(None);
            this.progress.ended_in_value = false;
        }
    }

    /// Returns the tokens that the pending retry took from the quota.
    pub(crate) fn credit(&self) -> u32 {
        self.known().map_or(0, |progress| progress.cost)
    }
}

impl<R> Session<LastFailure<R>> {
    /// Takes the last failure, or else `other`.
    #[cold]
    pub fn take_last_or(&mut self, other: Option<R>) -> Option<R> {
        self.kept().and_then(|kept| kept.take().into_option()).or(other)
    }
}

impl Session {
    /// Resumes a call with this progress, made in this process or in another one.
    pub(crate) fn resumed(behind: CallState) -> Self {
        if behind.attempts == 0 {
            return Self::new();
        }
        let progress = CallProgress::resumed(behind);
        Self {
            waiting: Some(Box::pin(WaitingCall {
                progress,
                kept: (),
                sleep: None,
                has_yielded: Yielded::default(),
            })),
        }
    }

    /// The progress of the call.
    pub(crate) fn state(&self) -> CallState {
        self.progress().state()
    }
}

/// A [`RetryEvent`] for the function's own listener. If that panics, a quota gets back what it lent
/// for the retry, which is then never made.
#[derive(Debug)]
pub struct Announced<'e, E> {
    event: RetryEvent<'e, E>,
    _credit: OnPanic<'e>,
}

impl<'e, E> Deref for Announced<'e, E> {
    type Target = RetryEvent<'e, E>;

    fn deref(&self) -> &Self::Target {
        &self.event
    }
}

/// The future of a wait.
#[derive(Debug)]
#[must_use = "a wait does nothing until it is awaited"]
pub struct Wait<'a, K> {
    waiting: Option<Pin<&'a mut WaitingCall<K>>>,
}

impl<K> Future for Wait<'_, K> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.waiting {
            Some(waiting) => waiting.as_mut().poll_sleep(cx),
            None => Poll::Ready(()),
        }
    }
}

impl<K> WaitingCall<K> {
    fn poll_sleep(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !self.progress.ends_at_once() {
            return self.poll_timer(cx);
        }
        let this = self.project();
        // No timer for a zero wait; but a loop without waits must still let other tasks run.
        ready!(timer::poll_yield(cx, this.has_yielded));
        this.progress.attempt_begins();
        Poll::Ready(())
    }

    #[inline(never)]
    fn poll_timer(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        if this.sleep.is_none() {
            // Created here and not when the wait was decided: only an async caller needs a timer.
            this.sleep.set(Some(async_sleep::sleep(this.progress.wait(), this.progress.site)));
        }
        if let Some(sleep) = this.sleep.as_mut().as_pin_mut() {
            ready!(sleep.poll(cx));
        }
        this.sleep.set(None);
        this.progress.attempt_begins();
        Poll::Ready(())
    }
}
