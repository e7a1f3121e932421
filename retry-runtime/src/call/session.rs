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

mod so_far;
mod verdict;

use core::future::Future;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use retry_rules::{Attempts, Fields, Policy};

use self::so_far::SoFar;
use crate::base::timer::{self, Sleep, Yielded};
use crate::call::async_sleep;
use crate::call::attempt::Attempt;
use crate::call::call_state::CallState;
use crate::call::last_failure::{FailureSlot, LastFailure};
use crate::call::plan::Plan;
use crate::event::retry_event::{Failure, RetryEvent};
use crate::outcome::error::{Ended, Interrupted};
use crate::outcome::past_failure::PastFailure;
use crate::protect::breaker::{CircuitBreaker, Permit, Rejected, StagePass};
use crate::protect::quota::{OnPanic, RetryQuota};
use crate::site::Origin;

pub use self::so_far::Next;
pub(crate) use self::so_far::succeeded_first_try;
pub(crate) use self::verdict::Decision;
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
        so_far: SoFar,
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
        self.known().map_or(0, |so_far| so_far.made).saturating_add(1)
    }

    /// Returns whether an attempt has failed, so that the current one is a retry.
    #[inline(always)]
    pub fn is_retrying(&self) -> bool {
        self.known().is_some_and(|so_far| so_far.made > 0)
    }

    /// Acquires the breaker's permit for the attempt that is about to begin.
    ///
    /// # Errors
    /// [`Rejected`] as from [`CircuitBreaker::try_acquire`].
    #[inline(always)]
    pub fn try_acquire<'b>(&self, breaker: &'b CircuitBreaker) -> Result<Permit<'b>, Rejected> {
        breaker.admit_closed().or_else(|word| so_far::acquire(breaker, word, self.known()))
    }

    /// Returns the trace of the call's last attempt or refusal in a stage of its breaker.
    pub(crate) fn stage_pass(&self) -> StagePass {
        self.known().map_or(StagePass::NONE, SoFar::stage_pass)
    }

    /// An attempt succeeded, and with it the call.
    #[inline(always)]
    pub fn succeeded<'o>(self, origin: impl Into<Origin<'o>>) {
        // By value: an option known to be `None` needs no drop.
        match self.waiting {
            Some(waiting) => waiting.so_far.recovered(origin.into(), None),
            None => succeeded_first_try(origin),
        }
    }

    /// Like [`succeeded`](Self::succeeded), with a quota that pays for retries: a success at the
    /// first attempt refunds some of it.
    #[inline(always)]
    pub fn succeeded_with_quota<'o>(self, origin: impl Into<Origin<'o>>, quota: &RetryQuota) {
        match self.waiting {
            Some(waiting) => waiting.so_far.recovered(origin.into(), Some(quota)),
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
        plan: &Plan<'_>,
        permit: Option<Permit<'_>>,
        verdict: Verdict<'_>,
    ) -> Next
    where
        K: FailureSlot,
    {
        match &mut self.waiting {
            Some(waiting) => waiting.as_mut().project().so_far.failed(plan, permit, &verdict),
            None => self.decide_first(|so_far| so_far.failed(plan, permit, &verdict)),
        }
    }

    /// Takes the failures that the call has kept, before it ends.
    #[cold]
    #[inline(never)]
    pub fn take_history(&mut self) -> Vec<PastFailure> {
        match &mut self.waiting {
            Some(waiting) => waiting.as_mut().project().so_far.take_history(),
            None => Vec::new(),
        }
    }

    /// The policy of the call, if it was evaluated at run time after a failed attempt.
    pub fn policy(&self) -> Option<Policy> {
        self.known()?.policy()
    }

    fn so_far(&self) -> &SoFar {
        self.known().unwrap_or(const { &SoFar::NOTHING })
    }

    /// The progress of a call that has waited.
    fn known(&self) -> Option<&SoFar> {
        self.waiting.as_ref().map(|waiting| &waiting.so_far)
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
    pub fn event<'e, E>(&self, plan: &Plan<'e>, failure: Failure<'e, E>) -> Announced<'e, E> {
        let so_far = self.so_far();
        let wait = so_far.delay().unwrap_or_default();
        let event = RetryEvent {
            name: plan.origin.name,
            attempt: so_far.made,
            attempts: so_far.forgiven().extends(plan.obeyed().get_attempts()),
            failure,
            wait,
            waited: so_far.waited().saturating_sub(wait),
        };
        Announced { event, _credit: OnPanic::release(plan.quota, so_far.cost) }
    }

    /// The breaker did not admit the next attempt; the call waits for it if it may.
    #[cold]
    #[inline(never)]
    pub fn refused(&mut self, plan: &Plan<'_>, rejected: &Interrupted) -> Next
    where
        K: FailureSlot,
    {
        match &mut self.waiting {
            Some(waiting) => waiting.as_mut().project().so_far.refused(plan, rejected),
            None => self.decide_first(|so_far| so_far.refused(plan, rejected)),
        }
    }

    /// The call was cancelled while it waited.
    #[cold]
    #[inline(never)]
    pub fn cancelled(&self, plan: &Plan<'_>) -> Ended {
        self.so_far().cancelled(plan)
    }

    /// The call was cancelled before the attempt that was about to begin.
    #[cold]
    #[inline(never)]
    pub fn cancelled_before_attempt(&self, plan: &Plan<'_>) -> Ended {
        self.so_far().cancelled_before_attempt(plan)
    }

    /// Decides for the first time whether the call goes on, and if so, or if it keeps its failures,
    /// stores its progress. Apart, because later decisions need no stack of their own.
    #[cold]
    #[inline(never)]
    fn decide_first(&mut self, decide: impl FnOnce(&mut SoFar) -> Next) -> Next
    where
        K: FailureSlot,
    {
        let mut so_far = SoFar::NOTHING;
        let next = decide(&mut so_far);
        if next == Next::Wait || so_far.keeps_failures() {
            let kept = K::none();
            self.waiting = Some(Box::pin(WaitingCall {
                so_far,
                kept,
                sleep: None,
                has_yielded: Yielded::default(),
            }));
        }
        next
    }

    /// The context passed to the body for the attempt that is about to begin.
    pub fn context(&self, plan: &Plan<'_>) -> Attempt {
        self.attempt_of(plan.obeyed().get_attempts())
    }

    /// Like [`context`](Self::context), for a policy known only at run time, which may break rules.
    /// `written` are the fields set in the attribute.
    #[inline(always)]
    pub fn context_at_run_time(&self, plan: &Plan<'_>, written: Fields) -> Attempt {
        self.attempt_of(plan.obeyed().nearest_attempts(written))
    }

    fn attempt_of(&self, attempts: Attempts) -> Attempt {
        let Some(so_far) = self.known() else {
            return Attempt::new(1, attempts, None, Duration::ZERO);
        };
        let attempts = match so_far.forgiven().extends(attempts) {
            Attempts::Limited(attempts) => {
                Attempts::Limited(attempts.saturating_sub(so_far.refusals()))
            }
            Attempts::Unlimited => Attempts::Unlimited,
        };
        Attempt::new(so_far.made.saturating_add(1), attempts, so_far.delay(), so_far.waited())
    }

    /// Sleeps for the wait that has been decided.
    pub fn wait(&mut self) -> Wait<'_, K> {
        Wait { waiting: self.waiting.as_mut().map(Pin::as_mut) }
    }

    /// Like [`wait`](Self::wait), but blocks the thread. If the thread drives async tasks, a
    /// warning names the call.
    pub fn wait_blocking<'o>(&mut self, origin: impl Into<Origin<'o>>) {
        if let Some(waiting) = &mut self.waiting {
            let so_far = waiting.as_mut().project().so_far;
            crate::call::blocking::sleep(so_far.wait(), origin.into().name);
            so_far.attempt_begins();
        }
    }

    /// Like [`wait_blocking`](Self::wait_blocking), but no longer than until `event` is ready.
    pub(crate) fn wait_blocking_until<'o>(
        &mut self,
        origin: impl Into<Origin<'o>>,
        event: impl Future<Output = ()>,
    ) {
        let Some(waiting) = &mut self.waiting else { return };
        let limit = waiting.as_mut().project().so_far.wait();
        match crate::call::blocking::sleep_until(event, limit, origin.into().name) {
            Some(slept) => self.wait_ended_after(slept),
            None => waiting.as_mut().project().so_far.attempt_begins(),
        }
    }

    /// The wait under way has ended early: the rest of it was not waited.
    #[cold]
    pub(crate) fn wait_ended_after(&mut self, slept: Duration) {
        if let Some(waiting) = &mut self.waiting {
            let mut this = waiting.as_mut().project();
            this.sleep.set(None);
            this.so_far.slept_only(slept);
            this.so_far.attempt_begins();
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
            this.so_far.set_asked(None);
            this.so_far.ended_in_value = false;
        }
    }

    /// Returns the tokens that the pending retry took from the quota.
    pub(crate) fn credit(&self) -> u32 {
        self.known().map_or(0, |so_far| so_far.cost)
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
        let so_far = SoFar::resumed(behind);
        Self {
            waiting: Some(Box::pin(WaitingCall {
                so_far,
                kept: (),
                sleep: None,
                has_yielded: Yielded::default(),
            })),
        }
    }

    /// The progress of the call.
    pub(crate) fn state(&self) -> CallState {
        self.so_far().state()
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
        if !self.so_far.ends_at_once() {
            return self.poll_timer(cx);
        }
        let this = self.project();
        // No timer for a zero wait; but a loop without waits must still let other tasks run.
        ready!(timer::poll_yield(cx, this.has_yielded));
        this.so_far.attempt_begins();
        Poll::Ready(())
    }

    #[inline(never)]
    fn poll_timer(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        if this.sleep.is_none() {
            // Created here and not when the wait was decided: only an async caller needs a timer.
            this.sleep.set(Some(async_sleep::sleep(this.so_far.wait(), this.so_far.site)));
        }
        if let Some(sleep) = this.sleep.as_mut().as_pin_mut() {
            ready!(sleep.poll(cx));
        }
        this.sleep.set(None);
        this.so_far.attempt_begins();
        Poll::Ready(())
    }
}
