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

use core::fmt;
use core::future::Future;
use core::ops::Deref;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::sync::Arc;

use retry_rules::{Attempts, Fields, Policy};

use crate::base::random;
use crate::base::timer::{self, Sleep, Yielded};
use crate::call::async_sleep;
use crate::call::attempt::{Attempt, Ruling};
use crate::call::call_state::CallState;
use crate::call::last_failure::{FailureSlot, LastFailure};
use crate::call::nested::{self, InnerCalls};
use crate::call::plan::{Hedges, LimitKind, Plan};
use crate::classify::Class;
use crate::classify::probe::ErrorDisplay;
use crate::event::Event;
use crate::event::retry_event::{Failure, RetryEvent};
use crate::observe;
use crate::outcome::error::{Ended, Reason};
use crate::protect::breaker::{CircuitBreaker, Permit};
use crate::protect::quota::{OnPanic, Reservation, RetryQuota};
use crate::site::{Origin, Site};

/// A failure, as the caller's matchers judge it.
#[derive(Clone, Copy, Debug)]
pub struct Verdict<'a> {
    /// Whether `retry_on` and `abort_on` allow a retry.
    pub retry: bool,
    /// Whether a breaker counts it as a failure; otherwise it counts as a success.
    pub failure: bool,
    /// The wait that the server asked for.
    pub hint: Option<Duration>,
    /// The class of the failure, if a quota needs it to determine the cost of the retry, or a
    /// breaker to let a conflict pass.
    pub class: Class,
    /// What went wrong, for events.
    pub error: ErrorDisplay<'a>,
    /// The least wait that the attempt itself asked for.
    pub least: Duration,
    /// Whether the attempt itself said that attempts, budget and curve begin anew.
    pub begins_anew: bool,
    /// Replaces the wait that would follow.
    pub adjust: Option<Adjust<'a>>,
}

/// Gives another wait in place of the one that would follow, or `None` to leave it.
#[derive(Clone, Copy)]
pub struct Adjust<'a>(pub &'a dyn Fn(Duration) -> Option<Duration>);

impl fmt::Debug for Adjust<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Adjust")
    }
}

impl<'a> Verdict<'a> {
    /// This verdict, with the wait that follows determined by `adjust`.
    #[must_use]
    pub fn adjusted(self, adjust: &'a dyn Fn(Duration) -> Option<Duration>) -> Self {
        Self { adjust: Some(Adjust(adjust)), ..self }
    }

    /// The wait that follows in place of `wait`.
    fn adjust(&self, wait: Duration, attempts: Attempts) -> Duration {
        match self.adjust.and_then(|Adjust(adjust)| adjust(wait)) {
            // Waits of 0s would never use up a budget, and the call would never end.
            Some(Duration::ZERO) if attempts == Attempts::Unlimited => wait,
            Some(adjusted) => adjusted,
            None => wait,
        }
    }

    /// Whether a breaker counts it as a failure. Never a conflict: a server that lets one
    /// transaction lose works.
    fn counts_for_breaker(&self) -> bool {
        self.failure && !self.class.contains(Class::CONFLICT)
    }

    /// Reports the failure to the breaker that admitted the attempt.
    pub(crate) fn report(&self, permit: Permit<'_>) {
        if self.counts_for_breaker() {
            permit.failure_with(&self.error);
        } else {
            permit.success();
        }
    }

    /// This verdict, unless the attempt itself ruled on its failure. A ruling does not affect how a
    /// breaker counts the failure.
    #[must_use]
    pub fn ruled_by(mut self, attempt: &Attempt) -> Self {
        (self.least, self.begins_anew) = (attempt.least(), attempt.begins_anew());
        match attempt.ruling() {
            Some(Ruling::GiveUp) => self.retry = false,
            Some(Ruling::RetryAfter(wait)) => {
                (self.retry, self.hint, self.adjust) = (true, Some(wait), None);
            }
            None => {}
        }
        self
    }
}

/// What comes after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// Wait, then try again.
    Wait,
    /// The call is over.
    GiveUp(Ended),
}

/// One call: how many attempts it made, how long it waited, and, if `K` keeps it, the last failure.
///
/// One pointer wide, and null until the first wait.
#[derive(Debug)]
pub struct Session<K = ()> {
    waiting: Option<Pin<Box<WaitingCall<K>>>>,
}

pin_project_lite::pin_project! {
    /// What a session knows once it has waited. The sleep and the last failure live inside, so that
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

/// The progress of a call: its attempts and waits so far.
#[derive(Clone, Debug, Default)]
struct SoFar {
    inner: InnerCalls,
    made: u32,
    // Attempts that the open breaker refused: they count against the policy's limit, but were not
    // made.
    refused: u32,
    waited: Duration,
    // What no longer counts against the attempts and the budget. Boxed, because few calls begin
    // anew, and each that waits would be larger.
    forgiven: Option<Box<Forgiven>>,
    // `None` before the first wait, and after a new beginning.
    delay: Option<Duration>,
    // What the current retry took from the quota, to be returned if it succeeds or is not made.
    cost: u32,
    // The annotated function that waits; `None` for a retrier.
    site: Option<&'static Site>,
    // The policy as it was at the first failure, if it is known only at run time.
    policy: Option<Arc<Policy>>,
}

/// The attempts and the waits before a new beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Forgiven {
    made: u32,
    waited: Duration,
}

impl Forgiven {
    /// The limit on all attempts, those before the new beginning included.
    fn extends(self, attempts: Attempts) -> Attempts {
        match attempts {
            Attempts::Limited(attempts) => Attempts::Limited(attempts.saturating_add(self.made)),
            Attempts::Unlimited => Attempts::Unlimited,
        }
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

    /// Whether an attempt has failed, so that the current one is a retry.
    #[inline(always)]
    pub fn is_retrying(&self) -> bool {
        self.known().is_some_and(|so_far| so_far.made > 0)
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
        self.decide(|so_far| so_far.failed(plan, permit, &verdict))
    }

    /// The policy of the call, if it was evaluated at run time after a failed attempt.
    pub fn policy(&self) -> Option<Policy> {
        self.known()?.policy.as_deref().copied()
    }

    fn so_far(&self) -> SoFar {
        self.known().cloned().unwrap_or_default()
    }

    /// The progress of a call that has waited.
    fn known(&self) -> Option<&SoFar> {
        self.waiting.as_ref().map(|waiting| &waiting.so_far)
    }

    /// Keeps a failure that will be retried.
    pub fn keep(&mut self, failure: K::Failure)
    where
        K: FailureSlot,
    {
        if let Some(kept) = self.kept() {
            kept.keep(failure);
        }
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
        let nothing = SoFar::default();
        let so_far = self.known().unwrap_or(&nothing);
        let &SoFar { made, waited, delay, cost, .. } = so_far;
        let wait = delay.unwrap_or_default();
        let event = RetryEvent {
            name: plan.origin.name,
            attempt: made,
            attempts: so_far.forgiven().extends(plan.obeyed().get_attempts()),
            failure,
            wait,
            waited: waited.saturating_sub(wait),
        };
        Announced { event, _credit: OnPanic::release(plan.quota, cost) }
    }

    /// The breaker did not admit the next attempt, and the call ends.
    #[cold]
    #[inline(never)]
    pub fn rejected(&self, plan: &Plan<'_>, rejected: &dyn fmt::Display) -> Ended {
        self.so_far().rejected(plan, Reason::CircuitOpen, rejected)
    }

    /// The breaker did not admit the next attempt; the call waits for it if it may.
    #[cold]
    #[inline(never)]
    pub fn refused(&mut self, plan: &Plan<'_>, rejected: &dyn fmt::Display) -> Next
    where
        K: FailureSlot,
    {
        self.decide(|so_far| so_far.refused(plan, rejected))
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
        let error = &"cancelled before the attempt began";
        self.so_far().rejected(plan, Reason::Cancelled, error)
    }

    /// Decides whether the call goes on, and if so, stores its progress.
    fn decide(&mut self, decide: impl FnOnce(&mut SoFar) -> Next) -> Next
    where
        K: FailureSlot,
    {
        if let Some(waiting) = &mut self.waiting {
            return decide(waiting.as_mut().project().so_far);
        }
        let mut so_far = SoFar::default();
        let next = decide(&mut so_far);
        if next == Next::Wait {
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
        let &SoFar { made, refused, waited, delay, .. } = so_far;
        let attempts = match so_far.forgiven().extends(attempts) {
            Attempts::Limited(attempts) => Attempts::Limited(attempts.saturating_sub(refused)),
            Attempts::Unlimited => Attempts::Unlimited,
        };
        Attempt::new(made.saturating_add(1), attempts, delay, waited)
    }

    /// Sleeps for the wait that has been decided.
    pub fn wait(&mut self) -> Wait<'_, K> {
        Wait { waiting: self.waiting.as_mut().map(Pin::as_mut) }
    }

    /// Like [`wait`](Self::wait), but if the wait is cancelled, `quota` gets back what it lent for
    /// the retry, which is then never made.
    pub fn wait_with_quota<'a>(&'a mut self, quota: &'a RetryQuota) -> WaitWithQuota<'a, K> {
        let reservation = Reservation::of(quota, self.credit());
        WaitWithQuota { wait: self.wait(), reservation: Some(reservation) }
    }

    /// Like [`wait`](Self::wait), but blocks the thread. If the thread drives async tasks, a
    /// warning names the call.
    pub fn wait_blocking<'o>(&mut self, origin: impl Into<Origin<'o>>) {
        if let Some(waiting) = &mut self.waiting {
            let so_far = waiting.as_mut().project().so_far;
            crate::call::blocking::sleep(so_far.wait(), origin.into().name);
            so_far.inner.attempt_begins();
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
            None => waiting.as_mut().project().so_far.inner.attempt_begins(),
        }
    }

    /// The wait under way has ended early: the rest of it was not waited.
    #[cold]
    pub(crate) fn wait_ended_after(&mut self, slept: Duration) {
        if let Some(waiting) = &mut self.waiting {
            let mut this = waiting.as_mut().project();
            this.sleep.set(None);
            this.so_far.slept_only(slept);
            this.so_far.inner.attempt_begins();
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

    /// What the retry that is waited for took from the quota.
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
        let CallState { attempts: made, waited, last_delay: delay } = behind;
        if made == 0 {
            return Self::new();
        }
        let so_far = SoFar { made, waited, delay, ..SoFar::default() };
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
        let SoFar { made, waited, delay, .. } = self.so_far();
        CallState { attempts: made, waited, last_delay: delay }
    }
}

/// A call has succeeded at its first attempt: only tests observe it.
#[inline(always)]
#[cfg_attr(
    not(feature = "testing"),
    expect(unused_variables, clippy::needless_pass_by_value, reason = "nobody looks on")
)]
fn succeeded_first_try<'o>(origin: impl Into<Origin<'o>>) {
    #[cfg(feature = "testing")]
    crate::test_hooks::succeeded(origin.into().name, 1);
}

/// How a breaker has refused a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// It is open, which uses up an attempt.
    Open,
    /// It is half-open, and its probes are taken, which does not: it may end at any time, and often.
    Probing,
}

/// How long the breaker stays open; zero if it is not open or only observes.
fn open_for(breaker: &CircuitBreaker) -> Result<Duration, Reason> {
    if breaker.until_admits() == Some(Duration::ZERO) {
        return Ok(Duration::ZERO);
    }
    match breaker.remaining() {
        // Forced open, until somebody resets it.
        Duration::MAX => Err(Reason::CircuitOpen),
        remaining => Ok(remaining),
    }
}

/// Whether a test makes waits end at once.
fn skips_waits() -> bool {
    #[cfg(feature = "testing")]
    let skips = crate::test_hooks::skips_waits();
    #[cfg(not(feature = "testing"))]
    let skips = false;
    skips
}

impl SoFar {
    /// How long to actually sleep for the decided wait.
    fn wait(&self) -> Duration {
        if skips_waits() { Duration::ZERO } else { self.delay.unwrap_or_default() }
    }

    /// What no longer counts.
    fn forgiven(&self) -> Forgiven {
        self.forgiven.as_deref().copied().unwrap_or_default()
    }

    /// The waits that a test skipped; they count towards a deadline as if they had been slept.
    fn unslept(&self) -> Duration {
        if skips_waits() { self.waited } else { Duration::ZERO }
    }

    fn failed(
        &mut self,
        plan: &Plan<'_>,
        permit: Option<Permit<'_>>,
        verdict: &Verdict<'_>,
    ) -> Next {
        if let Some(permit) = permit {
            match plan.timing.cut {
                // Whatever the matchers say: a server that hangs has to open the breaker.
                Some(LimitKind::Timeout) => permit.failure_with(&verdict.error),
                // The caller ran out of time, which says nothing about the other side.
                Some(LimitKind::Deadline) => drop(permit),
                None => verdict.report(permit),
            }
        }
        if let (0, Some(quota)) = (self.made, plan.quota) {
            quota.call_ended();
        }
        self.inner.attempt_ended();
        self.site = plan.origin.site;
        let evaluated = plan.policy;
        if let (Some(site), false) = (plan.origin.site, plan.is_evaluated) {
            site.learn(plan.policy);
        }
        let policy = &*plan.obeyed();
        let plan = &Plan { policy, ..*plan };
        observe::many_delay_lists(plan.origin.name, policy.get_backoff());
        if let (Hedges::Never, Some(hedge)) = (plan.hedges, policy.get_hedge()) {
            observe::hedge_not_obeyed(plan.origin.name, hedge);
        }
        if verdict.begins_anew {
            self.forgiven = Some(Box::new(Forgiven { made: self.made, waited: self.waited }));
            (self.refused, self.delay) = (0, None);
        }
        let attempt = self.made.saturating_add(1);
        match self.next_wait(plan, attempt, verdict) {
            Ok((delay, reservation)) => {
                let attempts = self.forgiven().extends(policy.get_attempts());
                let waited = self.waited;
                observe::will_retry(plan.origin, attempts, attempt, delay, waited, &verdict.error);
                self.made = attempt;
                self.cost = reservation.map_or(0, Reservation::spend);
                self.waits(delay, plan.is_evaluated.then_some(evaluated));
                Next::Wait
            }
            Err(reason) => {
                let ended = Ended { reason, attempts: attempt, waited: self.waited };
                observe::gave_up(plan.origin, ended, false, &verdict.error);
                self.end(plan.origin, attempt);
                Next::GiveUp(ended)
            }
        }
    }

    /// How long to wait after attempt `attempt`, and what the quota lends for the retry, or why not
    /// to retry.
    fn next_wait<'q>(
        &self,
        plan: &Plan<'q>,
        attempt: u32,
        verdict: &Verdict<'_>,
    ) -> Result<(Duration, Option<Reservation<'q>>), Reason> {
        let policy = plan.policy;
        let attempt = attempt.saturating_sub(self.forgiven().made);
        if plan.timing.is_cut() {
            return Err(Reason::Deadline);
        }
        if !verdict.retry {
            return Err(Reason::NotRetryable);
        }
        if !policy.allows_after(attempt.saturating_add(self.refused)) {
            return Err(Reason::Attempts);
        }
        if nested::once() {
            return Err(Reason::Nested);
        }
        if plan.is_cancelled {
            return Err(Reason::Cancelled);
        }
        let (shortest, longest) = match verdict.hint {
            Some(hint) => policy.hint_interval(attempt, hint, self.delay),
            None => policy.wait_interval(attempt, self.delay),
        };
        let wait = random::between(shortest, longest);
        let mut delay = verdict.adjust(wait, policy.get_attempts()).max(verdict.least);
        if let (Some(breaker), true) = (plan.breaker, plan.waits_for_breaker) {
            delay = delay.max(open_for(breaker)?);
        }
        self.allows_wait(plan, delay)?;
        let reservation = match plan.quota {
            Some(quota) => {
                let cut = if plan.timing.is_timeout() { Class::TIMEOUT } else { Class::empty() };
                Some(quota.reserve(verdict.class.union(cut)).ok_or(Reason::Quota)?)
            }
            None => None,
        };
        let admits = |breaker: &CircuitBreaker| breaker.until_admits() == Some(Duration::ZERO);
        if plan.breaker.is_some_and(|breaker| !plan.waits_for_breaker && !admits(breaker)) {
            return Err(Reason::CircuitOpen);
        }
        Ok((delay, reservation))
    }

    /// Whether the limits on time allow a wait of `delay`.
    fn allows_wait(&self, plan: &Plan<'_>, delay: Duration) -> Result<(), Reason> {
        let policy = plan.policy;
        let waited = self.waited.saturating_sub(self.forgiven().waited).saturating_add(delay);
        let by_the_clock = plan.since_first.saturating_add(delay);
        if policy.get_budget().is_some_and(|budget| waited.max(by_the_clock) > budget) {
            return Err(Reason::Budget);
        }
        // For waits that outlast the process, whoever stores the call supplies the elapsed time.
        let behind = self.unslept().saturating_add(plan.since_first);
        plan.timing.ends_by(policy, behind, delay).map_or(Ok(()), Err)
    }

    /// Records a decided wait, and the policy if it was `evaluated` for it.
    fn waits(&mut self, delay: Duration, evaluated: Option<&Policy>) {
        self.waited = self.waited.saturating_add(delay);
        self.delay = Some(delay);
        if let (None, Some(policy)) = (&self.policy, evaluated) {
            self.policy = Some(Arc::new(*policy));
        }
    }

    /// Takes back what of the last wait was not slept.
    fn slept_only(&mut self, slept: Duration) {
        let decided = self.delay.unwrap_or_default();
        let slept = slept.min(decided);
        self.waited = self.waited.saturating_sub(decided.saturating_sub(slept));
        self.delay = Some(slept);
    }

    fn refused(&mut self, plan: &Plan<'_>, rejected: &dyn fmt::Display) -> Next {
        self.site = plan.origin.site;
        let evaluated = plan.policy;
        let policy = &*plan.obeyed();
        let plan = &Plan { policy, ..*plan };
        let waits = plan.breaker.ok_or(Reason::CircuitOpen).and_then(|breaker| {
            let (refusal, delay) = self.wait_for_breaker(plan, breaker)?;
            Ok((breaker, refusal, delay))
        });
        match waits {
            Ok((breaker, refusal, delay)) => {
                let (name, breaker) = (plan.origin.name, breaker.name());
                observe::emit(&Event::AwaitsBreaker { name, breaker, wait: delay });
                if refusal == Refusal::Open {
                    self.refused = self.refused.saturating_add(1);
                }
                self.waits(delay, plan.is_evaluated.then_some(evaluated));
                Next::Wait
            }
            Err(reason) => Next::GiveUp(self.rejected(plan, reason, rejected)),
        }
    }

    /// Why the breaker has refused the call, and how long to wait for it at most, or why not to wait.
    fn wait_for_breaker(
        &self,
        plan: &Plan<'_>,
        breaker: &CircuitBreaker,
    ) -> Result<(Refusal, Duration), Reason> {
        let policy = plan.policy;
        let open_for = open_for(breaker)?;
        let refusal = if open_for.is_zero() { Refusal::Probing } else { Refusal::Open };
        let counted = self.made.saturating_sub(self.forgiven().made);
        let used = counted.saturating_add(self.refused).saturating_add(1);
        if refusal == Refusal::Open && !policy.allows_after(used) || nested::once() {
            return Err(Reason::CircuitOpen);
        }
        if plan.is_cancelled {
            return Err(Reason::Cancelled);
        }
        let delay = match refusal {
            Refusal::Open => open_for,
            // For an unknown time: until a probe ends, and no longer than the backoff says.
            Refusal::Probing => {
                let (shortest, longest) = policy.wait_interval(used, self.delay);
                let by_curve = random::between(shortest, longest);
                // The time after which a probe that does not report makes room for another.
                let overdue = breaker.until_admits().unwrap_or_default();
                if by_curve.is_zero() { overdue } else { by_curve.min(overdue) }
            }
        };
        self.allows_wait(plan, delay)?;
        Ok((refusal, delay))
    }

    /// The call was cancelled while it waited. The dropped wait has already returned what the retry
    /// took from the quota.
    fn cancelled(&self, plan: &Plan<'_>) -> Ended {
        let ended = Ended { reason: Reason::Cancelled, attempts: self.made, waited: self.waited };
        observe::gave_up(plan.origin, ended, true, &"cancelled while it waited for an attempt");
        self.end(plan.origin, self.made);
        ended
    }

    fn rejected(&self, plan: &Plan<'_>, reason: Reason, rejected: &dyn fmt::Display) -> Ended {
        // Return what was taken for the retry, which is not made.
        if let Some(quota) = plan.quota {
            quota.release(self.cost);
        }
        let ended = Ended { reason, attempts: self.made, waited: self.waited };
        observe::gave_up(plan.origin, ended, true, rejected);
        self.end(plan.origin, self.made);
        ended
    }

    #[cold]
    #[inline(never)]
    fn recovered(&self, origin: Origin<'_>, quota: Option<&RetryQuota>) {
        if self.made == 0 {
            // It waited for the breaker, but never failed.
            if let Some(quota) = quota {
                quota.refund();
            }
            return succeeded_first_try(origin);
        }
        if let Some(quota) = quota {
            quota.release(self.cost);
        }
        let attempt = self.made.saturating_add(1);
        #[cfg(feature = "testing")]
        crate::test_hooks::succeeded(origin.name, attempt);
        observe::recovered(origin, attempt, self.waited);
        self.end(origin, attempt);
    }

    /// Called when a call that failed has ended after `attempts`.
    fn end(&self, origin: Origin<'_>, attempts: u32) {
        let InnerCalls { name: inner, attempts: inner_attempts, .. } = &self.inner;
        // The same function running beside itself in one task is not nested.
        if let Some(inner) = inner.as_ref().filter(|inner| *inner != origin.name) {
            let (name, retries) = (origin.name, self.made);
            observe::emit(&Event::Nested { name, retries, inner, inner_attempts: *inner_attempts });
        }
        self.inner.call_ended(origin.name, attempts);
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

/// The future of a wait for a retry that a quota has paid for.
#[derive(Debug)]
#[must_use = "a wait does nothing until it is awaited"]
pub struct WaitWithQuota<'a, K> {
    wait: Wait<'a, K>,
    // `None` once the retry is made. If dropped earlier, the quota gets it back.
    reservation: Option<Reservation<'a>>,
}

impl<K> Future for WaitWithQuota<'_, K> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        ready!(Pin::new(&mut self.wait).poll(cx));
        self.reservation.take().map(Reservation::spend);
        Poll::Ready(())
    }
}

impl<K> WaitingCall<K> {
    fn poll_sleep(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let delay = this.so_far.wait();
        if delay.is_zero() {
            // No timer for a zero wait; but a loop without waits must still let other tasks run.
            ready!(timer::poll_yield(cx, this.has_yielded));
        } else {
            if this.sleep.is_none() {
                // Created here and not when the wait was decided: only an async caller needs a
                // timer.
                this.sleep.set(Some(async_sleep::sleep(delay, this.so_far.site)));
            }
            if let Some(sleep) = this.sleep.as_mut().as_pin_mut() {
                ready!(sleep.poll(cx));
            }
            this.sleep.set(None);
        }
        this.so_far.inner.attempt_begins();
        Poll::Ready(())
    }
}
