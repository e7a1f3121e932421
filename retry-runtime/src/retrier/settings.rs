//! [`Settings`]: everything that governs a retrier whatever its errors are; and what a call does
//! between its attempts, async or not.

use core::mem::take;
use core::ops::ControlFlow;

use retry_rules::{Invalid, Policy};

use crate::base::name::Name;
use crate::call::attempt::Attempt;
use crate::call::hedge::group::Terms;
use crate::call::last_failure::{FailureSlot, LastFailure};
use crate::call::plan::{Hedges, Plan, Timing};
use crate::call::session::{Next, Session};
use crate::call::tracked::{Tracked, ended, tracked_failure};
use crate::event::retry_event::RetryEvent;
use crate::observe;
use crate::outcome::Interruptible as _;
use crate::outcome::error::{AttemptError, Interrupted, RetryError};
use crate::protect::breaker::{CircuitBreaker, Permit};
use crate::protect::lend;
use crate::protect::quota::{Reservation, RetryQuota};
use crate::protect::shared::Shared;
use crate::retrier::decider::{FailedAttempt, Lists, Rules};
use crate::retrier::values::{FailedValue, PickedValue};
use crate::site::Origin;

/// Everything that governs a retrier whatever its errors are.
#[derive(Clone)]
pub(super) struct Settings {
    /// The policy in force.
    pub(super) policy: Policy,
    /// Whether the policy has time limits, which count from the start of a call, or hedges.
    pub(super) needs_timer: bool,
    /// Why the policy differs from the one that was given, if it does.
    pub(super) invalid: Option<Invalid>,
    pub(super) name: Name,
    pub(super) lists: Lists,
    pub(super) breaker: Option<Shared<CircuitBreaker>>,
    pub(super) quota: Option<Shared<RetryQuota>>,
}

/// What a retrier consists of whatever its errors are, behind one reference.
#[derive(Clone)]
pub(super) struct Common<V> {
    pub(super) settings: Settings,
    pub(super) values: V,
}

/// The session of a call.
pub(super) type Call<'r, T, E> = Session<PendingRetry<'r, Tracked<T, E>>>;

/// What a call keeps across its waits: the last failure, because a breaker or a deadline may end
/// the call before another attempt fails; and what the quota has lent to the next attempt, to be
/// returned if the call is dropped before that attempt. They are kept here rather than in the call,
/// to make a call that succeeds at its first attempt smaller.
pub(super) struct PendingRetry<'r, R> {
    last: LastFailure<R>,
    reservation: Option<Reservation<'r>>,
}

impl<R> FailureSlot for PendingRetry<'_, R> {
    type Failure = R;

    fn none() -> Self {
        Self { last: LastFailure::none(), reservation: None }
    }

    fn keep(&mut self, failure: R) {
        self.last.keep(failure);
    }

    fn take(&mut self) -> Self {
        Self { last: self.last.take(), reservation: self.reservation.take() }
    }
}

impl<R> Session<PendingRetry<'_, R>> {
    /// Called when the next attempt is made: what the quota lent for it is spent.
    pub(super) fn spend(&mut self) {
        self.kept().and_then(|kept| kept.reservation.take()).map(Reservation::spend);
    }
}

/// The result of a call.
pub(super) type End<T, E> = Result<T, RetryError<E>>;

/// An attempt that failed.
pub(super) struct Failed<'a, T, E> {
    pub(super) outcome: Tracked<T, E>,
    /// What is wrong with the value, if it returned one.
    pub(super) value: Option<&'a dyn FailedValue>,
    /// The context of the attempt, in which it may have ruled on its own failure.
    pub(super) attempt: Option<&'a Attempt>,
    /// Whether another attempt can be made at all.
    pub(super) can_repeat: bool,
    pub(super) hedges: Hedges,
}

type RetryListener<'a, E> = dyn FnMut(&RetryEvent<'_, E>) + 'a;

/// The closures of one call.
pub(super) struct CallClosures<'a, E> {
    when: Option<&'a mut dyn FnMut(&E) -> bool>,
    on_retry: Option<&'a mut RetryListener<'a, E>>,
}

impl<'a, E> CallClosures<'a, E> {
    pub(super) fn new(
        when: &'a mut Option<impl FnMut(&E) -> bool>,
        on_retry: &'a mut Option<impl FnMut(&RetryEvent<'_, E>)>,
    ) -> Self {
        Self {
            when: when.as_mut().map(|when| when as _),
            on_retry: on_retry.as_mut().map(|listener| listener as _),
        }
    }
}

// The expansion of the attribute has the equivalent inline.
impl Settings {
    pub(super) const fn new(policy: Policy) -> Self {
        let (policy, invalid) = policy.nearest_valid();
        let needs_timer = policy.is_timed() || policy.has_max_elapsed() || policy.is_hedged();
        let name = Name::from_static("retrier");
        let lists = Lists { retry_on: None, abort_on: None };
        Self { policy, needs_timer, invalid, name, lists, breaker: None, quota: None }
    }

    /// The same settings with another policy.
    pub(super) fn with_policy(self, policy: Policy) -> Self {
        let Self { name, lists, breaker, quota, .. } = self;
        Self { name, lists, breaker, quota, ..Self::new(policy) }
    }

    pub(super) const fn origin(&self) -> Origin<'_> {
        Origin::retrier(&self.name)
    }

    pub(super) fn plan(&self) -> Plan<'_> {
        Plan {
            breaker: self.breaker.as_ref().map(lend::breaker),
            quota: self.quota.as_ref().map(lend::quota),
            ..Plan::by(self.origin(), &self.policy)
        }
    }

    /// What the hedges of attempt `attempt` need to know.
    pub(super) fn terms(&self, attempt: u32) -> Terms<'_> {
        let Plan { origin, breaker, quota, .. } = self.plan();
        Terms { origin, attempt, breaker, quota, contexts: None }
    }

    /// Reports, once, that the policy in force is not the one that was given.
    pub(super) fn warn(&self) {
        if let Some(invalid) = self.invalid {
            observe::invalid_policy(&self.name, invalid);
        }
    }

    /// The breaker's permit for an attempt, or else the end of the call.
    #[inline]
    pub(super) fn admit<T, E>(
        &self,
        call: &mut Call<'_, T, E>,
        timing: impl FnOnce() -> Timing,
    ) -> Result<Option<Permit<'_>>, End<T, E>> {
        let Some(breaker) = &self.breaker else { return Ok(None) };
        match lend::breaker(breaker).try_acquire() {
            Ok(permit) => Ok(Some(permit)),
            Err(rejected) => Err(self.rejected(call, timing(), rejected.into())),
        }
    }

    #[cold]
    fn rejected<T, E>(
        &self,
        call: &mut Call<'_, T, E>,
        timing: Timing,
        rejected: Interrupted,
    ) -> End<T, E> {
        let how = call.rejected(&self.plan().timing(timing), &rejected);
        ended(take(call).close().last.last_or_else(|| Result::interrupted(rejected)), how)
    }

    #[inline]
    pub(super) fn succeeded<T, E>(&self, call: Call<'_, T, E>, permit: Option<Permit<'_>>) {
        if let Some(permit) = permit {
            permit.success();
        }
        match &self.quota {
            Some(quota) => call.succeeded_with_quota(self.origin(), lend::quota(quota)),
            None => call.succeeded(self.origin()),
        }
    }

    /// Breaks with the result of the call, or continues if a wait follows.
    #[cold]
    pub(super) fn failed<'r, T, E>(
        &'r self,
        rules: &Rules<E>,
        closures: CallClosures<'_, E>,
        call: &mut Call<'r, T, E>,
        timing: Timing,
        permit: Option<Permit<'_>>,
        failed: Failed<'_, T, E>,
    ) -> ControlFlow<End<T, E>> {
        self.warn();
        let Failed { outcome, value, attempt, can_repeat, hedges } = failed;
        let value = value.unwrap_or(&PickedValue);
        let asked = match &outcome {
            Err(AttemptError::Error(error)) => FailedAttempt::Error(error),
            Err(AttemptError::Interrupted(cut)) => FailedAttempt::Interrupted(cut),
            Ok(_) => FailedAttempt::Value(value),
        };
        let adjust = |wait| rules.adjusted(&asked, wait);
        let mut verdict = rules.verdict(&self.lists, &asked, closures.when).adjusted(&adjust);
        if let Some(attempt) = attempt {
            verdict = verdict.ruled_by(attempt);
        }
        verdict.retry &= can_repeat;
        let plan = Plan { hedges, ..self.plan().timing(timing) };
        match call.failed(&plan, permit, verdict) {
            Next::Wait => {
                let event = call.event(&plan, tracked_failure(&outcome));
                rules.on_retry(&event);
                if let Some(listener) = closures.on_retry {
                    listener(&event);
                }
                drop(event);
                let reservation = plan.quota.map(|quota| Reservation::of(quota, call.credit()));
                if let Some(kept) = call.kept() {
                    kept.reservation = reservation;
                }
                // Only these can end a call before it fails again. Otherwise, the outcome is
                // dropped before the wait: a response may hold a connection.
                if plan.breaker.is_some() || timing.has_deadline() {
                    call.keep(outcome);
                }
                ControlFlow::Continue(())
            }
            Next::GiveUp(how) => {
                let kept = take(call).close().last;
                let last = if timing.is_cut() { kept.last_or_else(|| outcome) } else { outcome };
                ControlFlow::Break(ended(last, how))
            }
        }
    }
}
