//! The one state machine: what happens after an attempt.
//!
//! The attribute's expansion, the closure API and the workflow crate all drive it; async and sync
//! differ only in how they sleep. It is inert until something fails: a call that succeeds at its
//! first attempt allocates nothing, reads no clock and draws no random number.
//!
//! ```text
//! loop {
//!     admit ─ Err ─▶ refused ─ Wait ─▶ wait      (GiveUp ─▶ last_or)
//!     attempt                                    (by `timer`, if attempts may time out)
//!     success ─▶ succeeded
//!     failed  ─ Wait ─▶ keep, wait               (GiveUp ─▶ end)
//! }
//! ```
//!
//! The context is passed to each step instead of stored: it may borrow a `self` that is not `Sync`,
//! and a session is held across attempts. Every step that ends the call consumes it.

mod call_progress;
mod wait;

use core::future::Future;
use core::mem;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

use retry_rules::{Attempts, Fields, Policy};

use self::call_progress::CallProgress;
use self::wait::{CallWait, WaitingCall};
use crate::base::clock::Instant;
use crate::call::attempt::Attempt;
use crate::call::attempt_limit::{CallTiming, LimitAttempts, Untimed};
use crate::call::blocking;
use crate::call::call_context::CallContext;
use crate::call::call_state::CallState;
use crate::call::hedge::Hedges;
use crate::call::hedge::race::RaceContext;
use crate::call::hedge::race_attempts::RaceAttempts;
use crate::call::last_failure::{Keeps, LastFailure};
use crate::call::nested::{Guard, Inside};
use crate::call::verdict::Verdict;
use crate::event::retry_event::RetryEvent;
use crate::outcome::ended::Ended;
use crate::outcome::interrupted::Interrupted;
use crate::outcome::past_failure::PastFailure;
use crate::protect::breaker::{CircuitBreaker, PackedState, Permit, Rejected, StagePass};
use crate::protect::quota::{OnPanic, RetryQuota};
use crate::site::{Origin, Site};

pub use self::call_progress::Next;
pub(crate) use self::call_progress::succeeded_first_try;
pub(crate) use self::wait::{Wait, WaitTerms};

/// One call: how many attempts it made, how long it waited, and, if `K` keeps it, the last failure.
///
/// Without time limits one pointer wide, and null until the first wait.
pub struct Session<K = (), T = Untimed> {
    waiting: Option<Pin<Box<WaitingCall<K>>>>,
    /// The time limits of the call and its attempts.
    pub timer: T,
}

impl<K, T: Default> Default for Session<K, T> {
    fn default() -> Self {
        Self::timed(T::default())
    }
}

impl<K> Session<K> {
    /// A call without time limits that has made no attempt yet.
    #[inline(always)]
    pub const fn new() -> Self {
        Self::timed(Untimed)
    }
}

impl<K, T> Session<K, T> {
    /// A call that begins now.
    #[inline(always)]
    pub const fn timed(timer: T) -> Self {
        Self { waiting: None, timer }
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

    /// Returns whether the call has waited, or waits.
    #[cfg(feature = "tower")]
    pub(crate) fn has_waited(&self) -> bool {
        self.waiting.is_some()
    }

    /// Returns whether a wait is under way.
    #[cfg(feature = "tower")]
    pub(crate) fn is_waiting(&self) -> bool {
        self.known().is_some_and(|progress| progress.is_waiting)
    }

    /// This session with another timer.
    #[cfg(feature = "tower")]
    pub(crate) fn with_timer<U>(self, timer: U) -> Session<K, U> {
        Session { waiting: self.waiting, timer }
    }

    /// Returns the context of the attempt that is about to begin, of an annotated function.
    pub fn race<'a, 'r>(
        &self,
        site: &'static Site,
        breaker: Option<&'r CircuitBreaker>,
        quota: Option<&'r RetryQuota>,
        attempts: Option<&'a RaceAttempts>,
    ) -> RaceContext<'a, 'r> {
        let (origin, attempt) = (site.into(), self.number());
        let keeps_failures = site.end_options().history > 0;
        RaceContext { origin, attempt, breaker, quota, attempts, keeps_failures }
    }

    /// Wraps the body of an async function with `nested = once`.
    #[inline(always)]
    pub fn inside<F>(&self, attempt: F) -> Inside<F> {
        Inside::new(self.is_retrying(), attempt)
    }

    /// Begins an attempt of any other function with `nested = once`, and ends it with the guard.
    pub fn guard(&self) -> Guard {
        Guard::new(self.is_retrying())
    }

    /// Limits the time of an attempt.
    #[inline(always)]
    pub fn limit<F: Future>(&self, attempt: F) -> T::Attempt<F>
    where
        T: LimitAttempts,
    {
        self.timer.attempt(attempt)
    }

    /// Returns the trace of the call's last attempt or refusal in a stage of its breaker.
    pub(crate) fn stage_pass(&self) -> StagePass {
        self.known().map_or(StagePass::NONE, CallProgress::stage_pass)
    }

    /// An attempt succeeded, and with it the call. At the first attempt, a quota that pays for
    /// retries gets a refund.
    #[inline(always)]
    pub fn succeeded<'o>(self, origin: impl Into<Origin<'o>>, quota: Option<&RetryQuota>) {
        // By value: an option known to be `None` needs no drop.
        match self.waiting {
            Some(waiting) => waiting.progress.recovered(origin.into(), quota),
            None => {
                if let Some(quota) = quota {
                    quota.refund();
                }
                succeeded_first_try(origin);
            }
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
        K: Default,
    {
        match self.waiting {
            Some(mut waiting) => mem::take(waiting.as_mut().project().kept),
            None => K::default(),
        }
    }

    /// The event to pass to `on_retry`, after a failure that will be retried.
    pub(crate) fn event<'e, E>(
        &self,
        context: &CallContext<'e>,
        failure: Result<&'e E, &'e Interrupted>,
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

    /// Waits as decided, or until `awaited`, the breaker that has rejected the call, admits it.
    /// If the wait is dropped, `quota` gets back what it has lent for the retry.
    pub fn wait_with<'a>(
        &'a mut self,
        quota: Option<&'a RetryQuota>,
        awaited: Option<&'a CircuitBreaker>,
    ) -> CallWait<'a, K, T> {
        let terms = WaitTerms::new(self, quota, awaited);
        CallWait { session: self, terms }
    }

    /// Blocks the thread as long as decided, or until `awaited`, the breaker that has rejected the
    /// call, admits it. If the thread drives async tasks, a warning names the call.
    pub fn wait_blocking<'o>(
        &mut self,
        origin: impl Into<Origin<'o>>,
        awaited: Option<&CircuitBreaker>,
    ) {
        let Some(waiting) = &mut self.waiting else { return };
        let (limit, name) = (waiting.progress.wait(), origin.into().name);
        let slept = match awaited {
            Some(breaker) => {
                let admission = breaker.admission(waiting.progress.stage_pass());
                blocking::sleep_until(admission, limit, name)
            }
            None => {
                blocking::sleep(limit, name);
                None
            }
        };
        match slept {
            Some(slept) => waiting.as_mut().wait_ended_after(slept),
            None => waiting.as_mut().project().progress.attempt_begins(),
        }
    }

    /// Like [`wait`](Self::wait), for a hand-written future.
    pub(crate) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.wait()).poll(cx)
    }

    /// Polls the limit of an attempt of a call of `site`, or of a retrier if that is `None`, which is
    /// reached at `at` if it begins now.
    pub(crate) fn poll_limit(
        &mut self,
        at: Option<Instant>,
        site: Option<&'static Site>,
        cx: &mut Context<'_>,
    ) -> Poll<()>
    where
        K: Default,
    {
        let begun = || WaitingCall::new(CallProgress::NOTHING, K::default(), site);
        self.waiting.get_or_insert_with(begun).as_mut().poll_limit(at, cx)
    }

    /// The attempt has ended, and its limit with it.
    pub(crate) fn end_limit(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.as_mut().project().progress.is_sleeping = false;
        }
    }

    /// The slot for the last failure, once the call has waited.
    pub(crate) fn kept(&mut self) -> Option<&mut K> {
        self.waiting.as_mut().map(|waiting| waiting.as_mut().project().kept)
    }

    /// Returns the end of a call that is cancelled during a wait.
    pub(crate) fn cancelled_in_wait(&mut self, context: &CallContext<'_>) -> Ended {
        if let Some(waiting) = &mut self.waiting {
            // The rest of the wait was not waited.
            let slept = waiting.slept();
            waiting.as_mut().project().progress.slept_only(slept);
        }
        self.progress().cancelled(context)
    }

    /// Returns the end of a call that is cancelled before its first attempt.
    #[cold]
    pub fn cancelled_before_attempt(self, context: CallContext<'_>) -> Ended {
        self.progress().cancelled_before_attempt(&context)
    }

    /// Returns the tokens that the pending retry took from the quota.
    pub(crate) fn credit(&self) -> u32 {
        self.known().map_or(0, |progress| progress.cost)
    }
}

impl<K: Default, T: CallTiming> Session<K, T> {
    /// An attempt failed. The order of the decisions is the one that the
    /// documentation of `#[retry]` promises.
    #[cold]
    #[inline(never)]
    pub fn failed(
        &mut self,
        mut context: CallContext<'_>,
        permit: Option<Permit<'_>>,
        verdict: Verdict<'_>,
    ) -> Next {
        context.set_timing(self.timer.timing());
        self.failed_in(&context, permit, &verdict)
    }

    /// As [`failed`](Self::failed), with the times of the call in its context.
    #[inline]
    pub(crate) fn failed_in(
        &mut self,
        context: &CallContext<'_>,
        permit: Option<Permit<'_>>,
        verdict: &Verdict<'_>,
    ) -> Next {
        self.decide(context.origin.site, |progress| progress.failed(context, permit, verdict))
    }

    /// The breaker did not admit the next attempt; the call waits for it if it may.
    #[cold]
    #[inline(never)]
    pub fn refused(&mut self, mut context: CallContext<'_>, rejected: &Interrupted) -> Next {
        context.set_timing(self.timer.timing());
        self.decide(context.origin.site, |progress| progress.refused(&context, rejected))
    }

    /// Decides whether the call of `site` goes on.
    #[inline]
    fn decide(
        &mut self,
        site: Option<&'static Site>,
        decide: impl FnOnce(&mut CallProgress) -> Next,
    ) -> Next {
        match &mut self.waiting {
            Some(waiting) => decide(waiting.as_mut().project().progress),
            None => self.decide_first(site, decide),
        }
    }

    /// Decides for the first time whether the call goes on, and if so, or if it keeps its failures,
    /// stores its progress. Apart, because later decisions need no stack of their own.
    #[cold]
    #[inline(never)]
    fn decide_first(
        &mut self,
        site: Option<&'static Site>,
        decide: impl FnOnce(&mut CallProgress) -> Next,
    ) -> Next {
        let mut progress = CallProgress::NOTHING;
        let next = decide(&mut progress);
        if next == Next::Wait || progress.keeps_failures() {
            self.waiting = Some(WaitingCall::new(progress, K::default(), site));
        }
        next
    }

    /// Returns the hedges of the attempt that begins now, which take the failure that was kept.
    #[inline(always)]
    pub fn hedges<'a, R>(&mut self) -> Hedges<'a, R, K> {
        Hedges::after(self.kept().map(mem::take).unwrap_or_default())
    }

    /// Returns the outcome of a hedged attempt: if a time limit has ended the attempt after one of
    /// its members failed, the failure of that member. It replaces the wait that a server asked for
    /// with an earlier failure, and `permit` is then the permit of a member. If no member failed, the
    /// earlier failure is kept again.
    #[inline]
    pub fn hedged<'a, R>(
        &mut self,
        outcome: R,
        hedges: &mut Hedges<'a, R, K>,
        permit: Option<&mut Option<Permit<'a>>>,
    ) -> R {
        if self.timer.timing().timed_out.is_none() {
            return outcome;
        }
        let Some(last) = hedges.timed_out(permit) else {
            if let Some(kept) = self.kept() {
                *kept = mem::take(&mut hedges.earlier);
            }
            return outcome;
        };
        self.forget_last();
        last
    }

    /// The last failure is not the failure of the last attempt.
    #[cold]
    pub(crate) fn forget_last(&mut self) {
        if let Some(waiting) = &mut self.waiting {
            waiting.as_mut().project().progress.set_asked(None);
        }
    }

    /// Keeps a failure that will be retried, if the call may end with it: in the wait or before the
    /// next attempt, or, with a deadline, in that attempt.
    #[cold]
    #[inline(never)]
    pub fn keep<R>(&mut self, outcome: R, may_end_before_attempt: bool)
    where
        K: Keeps<R>,
    {
        let may_end = may_end_before_attempt || self.timer.timing().cuts_attempts();
        if let Some(kept) = self.kept().filter(|_| may_end) {
            kept.keep(outcome);
        }
    }

    /// Drops the kept failure once the next attempt is admitted, unless the call may still end with
    /// it.
    #[cold]
    #[inline(never)]
    pub fn release(&mut self) {
        if self.has_used_up_failure() {
            self.kept().map(mem::take);
        }
    }

    /// Returns whether the call, whose next attempt is admitted, can no longer end with the failure
    /// before it. A deadline that cuts this attempt off ends the call with an error, not with a
    /// value: that may be a response, which holds a connection.
    pub(crate) fn has_used_up_failure(&self) -> bool {
        self.progress().ended_in_value || !self.timer.timing().cuts_attempts()
    }

    /// The state of the breaker before the first attempt, for [`try_acquire`](Self::try_acquire).
    #[inline(always)]
    pub fn breaker_state(&self, breaker: &CircuitBreaker) -> PackedState {
        breaker.packed()
    }

    /// The state of the breaker before any other attempt. Apart, so that the first attempt does not
    /// check whether a failure was kept.
    #[cold]
    #[inline(never)]
    pub fn breaker_state_again(&mut self, breaker: &CircuitBreaker) -> PackedState {
        let packed = breaker.packed();
        if packed.admits_all() {
            self.release();
        }
        packed
    }

    /// Acquires the permit of a breaker in this state for the attempt that is about to begin.
    ///
    /// # Errors
    /// [`Rejected`] as from [`CircuitBreaker::try_acquire`].
    #[inline(always)]
    pub fn try_acquire<'b>(
        &mut self,
        breaker: &'b CircuitBreaker,
        packed: PackedState,
    ) -> Result<Permit<'b>, Rejected> {
        breaker.admit_in(packed).or_else(|packed| self.acquire(breaker, packed))
    }

    /// Acquires the permit, unless the breaker is closed and counts consecutive failures.
    #[inline(never)]
    fn acquire<'b>(
        &mut self,
        breaker: &'b CircuitBreaker,
        packed: PackedState,
    ) -> Result<Permit<'b>, Rejected> {
        let permit = breaker.acquire(packed, || self.stage_pass())?;
        if !packed.admits_all() {
            self.release();
        }
        Ok(permit)
    }

    /// Returns the outcome of a call that has given up. If the deadline has ended the last attempt,
    /// that is the failure before it, which is more informative.
    #[cold]
    #[inline(never)]
    pub fn end<R>(self, outcome: R) -> R
    where
        K: Keeps<R>,
    {
        let is_late = self.timer.timing().is_late();
        let kept = self.close();
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
        self.close().last_or_else(|| interrupted(rejected))
    }
}

impl<R, T: CallTiming> Session<LastFailure<R>, T> {
    /// Ends the call that was cancelled during a wait, after a failure or after the rejection
    /// `rejected`.
    #[cold]
    pub fn cancelled(mut self, mut context: CallContext<'_>, rejected: Option<R>) -> (R, Ended) {
        context.set_timing(self.timer.timing());
        let ended = self.cancelled_in_wait(&context);
        let none = || unreachable!("a failure that is retried is kept during the wait");
        (self.close().last_or_else(|| rejected.unwrap_or_else(none)), ended)
    }
}

impl<K: Default, T> Session<K, T> {
    /// Resumes a call with this progress, made in this process or in another one.
    #[cold]
    pub(crate) fn resumed(mut self, behind: CallState) -> Self {
        if behind != CallState::default() {
            let progress = CallProgress::resumed(behind);
            self.waiting = Some(WaitingCall::new(progress, K::default(), None));
        }
        self
    }

    /// The progress of the call.
    pub(crate) fn state(&self) -> CallState {
        self.progress().state()
    }
}

/// A [`RetryEvent`] for the function's own listener. If that panics, a quota gets back what it lent
/// for the retry, which is then never made.
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
