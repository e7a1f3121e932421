//! [`RetrierSettings`]: everything that governs a retrier whatever its errors are; and what a call
//! does between its attempts, async or not.

use core::mem::{self, take};
use core::ops::ControlFlow;
use core::task::{Context, Poll};

use retry_rules::{Invalid, Policy};

use crate::base::name::Name;
use crate::base::sealed::Seal;
use crate::call::attempt::Attempt;
use crate::call::attempt_limit::CallTiming;
use crate::call::attempt_result::{AttemptResult, attempt_failure, ended};
use crate::call::call_context::CallContext;
use crate::call::hedge::race_state::RaceContext;
use crate::call::hedge::report::HedgeReport;
use crate::call::last_failure::{Keeps, LastFailure};
use crate::call::session::{Next, Session, WaitTerms};
use crate::call::verdict::Verdict;
use crate::event::warning::Warning;
use crate::observe;
use crate::outcome::Interruptible as _;
use crate::outcome::error::{AttemptError, Interrupted, RetryError};
use crate::protect::as_breaker::{AsBreaker, AsQuota};
use crate::protect::breaker::{CircuitBreaker, Permit};
use crate::protect::quota::RetryQuota;
use crate::protect::shared::Shared;
use crate::retrier::decider::{ErrorRules, FailedAttempt, MatcherLists};
use crate::retrier::listener::Listener;
use crate::retrier::values::{FailedValue, PickedValue};
use crate::site::Origin;
use crate::site::end_options::EndOptions;

/// Everything that governs a retrier whatever its errors are.
#[derive(Clone)]
pub(super) struct RetrierSettings {
    /// The policy in force.
    pub(super) policy: Policy,
    /// Set if the policy has time limits, which count from the start of a call, or hedges.
    pub(super) needs_timer: bool,
    /// Set if an attempt needs nothing but to be made: no breaker, quota, time limit or hedge.
    pub(super) is_plain: bool,
    /// The reason why the policy differs from the given one, if it does.
    pub(super) invalid: Option<Invalid>,
    pub(super) name: Name,
    pub(super) lists: MatcherLists,
    pub(super) breaker: Option<Shared<CircuitBreaker>>,
    pub(super) quota: Option<Shared<RetryQuota>>,
    /// Set if calls wait until the breaker admits them.
    pub(super) waits_for_breaker: bool,
    pub(super) end: EndOptions,
}

/// The parts of a retrier that do not depend on its error type, behind one reference.
#[derive(Clone)]
pub(super) struct Common<V> {
    pub(super) settings: RetrierSettings,
    pub(super) values: V,
}

/// A call of a retrier, with the time limits of a `Timer`.
pub(super) type RunSession<'r, T, E, Timer> = Session<PendingRetry<'r, AttemptResult<T, E>>, Timer>;

/// The state that a call keeps during its waits: the last failure, because a breaker or a deadline
/// may end the call before another attempt fails, and the terms of the wait. Boxed, because a call
/// without these keeps nothing.
pub(super) struct PendingRetry<'r, R>(Option<Box<Kept<'r, R>>>);

struct Kept<'r, R> {
    last: LastFailure<R>,
    terms: WaitTerms<'r>,
}

impl<'r, R> PendingRetry<'r, R> {
    fn kept(&mut self) -> &mut Kept<'r, R> {
        self.0.get_or_insert_with(|| {
            Box::new(Kept { last: LastFailure::default(), terms: WaitTerms::NONE })
        })
    }
}

impl<R> Default for PendingRetry<'_, R> {
    fn default() -> Self {
        Self(None)
    }
}

impl<R> Keeps<R> for PendingRetry<'_, R> {
    fn keep(&mut self, outcome: R) {
        self.kept().last.keep(outcome);
    }

    fn last_or_else(self, other: impl FnOnce() -> R) -> R {
        match self.0 {
            Some(kept) => kept.last.last_or_else(other),
            None => other(),
        }
    }
}

impl<'r, R, T> Session<PendingRetry<'r, R>, T> {
    /// Sets the terms of the wait that begins now.
    #[cold]
    fn begin_wait(&mut self, quota: Option<&'r RetryQuota>, awaited: Option<&'r CircuitBreaker>) {
        let terms = WaitTerms::new(self, quota, awaited);
        if let Some(pending) = self.kept() {
            pending.kept().terms = terms;
        }
    }

    /// Polls the wait on its terms.
    pub(super) fn poll_on_terms(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(kept) = self.kept().and_then(|pending| pending.0.as_mut()) else {
            return self.poll_wait(cx);
        };
        // The session is polled too, so the terms leave it meanwhile.
        let mut terms = mem::replace(&mut kept.terms, WaitTerms::NONE);
        let polled = terms.poll(self, cx);
        if polled.is_pending() {
            if let Some(pending) = self.kept() {
                pending.kept().terms = terms;
            }
        }
        polled
    }

    /// Ends the wait of a call that blocks its thread.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub(super) fn end_wait(&mut self) {
        if let Some(kept) = self.kept().and_then(|pending| pending.0.as_mut()) {
            kept.terms.end();
        }
    }
}

/// The result of a call.
pub(super) type End<T, E> = Result<T, RetryError<E>>;

/// An attempt that failed, and the closures of its call.
pub(super) struct FailedOutcome<'a, T, E> {
    pub(super) outcome: AttemptResult<T, E>,
    /// The fault of the value, if it returned one.
    pub(super) value: Option<&'a dyn FailedValue>,
    /// The context of the attempt, in which it may have ruled on its own failure.
    pub(super) attempt: Option<&'a Attempt>,
    /// Set if another attempt can be made at all.
    pub(super) can_repeat: bool,
    /// Set if hedges may join the attempts.
    pub(super) may_hedge: bool,
    /// The findings of the hedges that joined the attempt.
    pub(super) report: &'a HedgeReport<Result<T, E>>,
    pub(super) when: Option<&'a mut dyn FnMut(&E) -> bool>,
    pub(super) on_retry: Option<&'a mut dyn Listener<E>>,
}

// The expansion of the attribute has the equivalent inline.
impl RetrierSettings {
    pub(super) const fn new(policy: Policy) -> Self {
        let (policy, invalid) = policy.nearest_valid();
        let needs_timer = policy.is_timed() || policy.is_clocked() || policy.is_hedged();
        let name = Name::from_static("retrier");
        let lists = MatcherLists { retry_on: None, abort_on: None };
        let is_plain = !needs_timer;
        Self {
            policy,
            needs_timer,
            is_plain,
            invalid,
            name,
            lists,
            breaker: None,
            quota: None,
            waits_for_breaker: false,
            end: EndOptions::DEFAULT,
        }
    }

    /// The same settings with another policy.
    pub(super) fn with_policy(self, policy: Policy) -> Self {
        let Self { policy, needs_timer, is_plain, invalid, .. } = Self::new(policy);
        let is_plain = is_plain && self.breaker.is_none() && self.quota.is_none();
        Self { policy, needs_timer, is_plain, invalid, ..self }
    }

    /// Sets the breaker that admits the attempts.
    pub(super) fn protect_by(&mut self, breaker: Shared<CircuitBreaker>) {
        self.breaker = Some(breaker);
        self.is_plain = false;
    }

    /// Sets the quota that pays for the retries.
    pub(super) fn pay_from(&mut self, quota: Shared<RetryQuota>) {
        self.quota = Some(quota);
        self.is_plain = false;
    }

    pub(super) const fn origin(&self) -> Origin<'_> {
        Origin::retrier(&self.name)
    }

    pub(super) fn context(&self) -> CallContext<'_> {
        CallContext {
            breaker: self.breaker.as_ref().map(AsBreaker::of_call),
            quota: self.quota.as_ref().map(AsQuota::of_call),
            waits_for_breaker: self.waits_for_breaker,
            end: self.end,
            ..CallContext::by(self.origin(), &self.policy)
        }
    }

    /// Returns the context of the race of attempt `attempt`.
    pub(super) fn race_context(&self, attempt: u32) -> RaceContext<'_> {
        let CallContext { origin, breaker, quota, .. } = self.context();
        let keeps_failures = self.end.history > 0;
        RaceContext { origin, attempt, breaker, quota, attempts: None, keeps_failures }
    }

    /// Reports, once, that the policy in force is not the one that was given.
    pub(super) fn warn(&self) {
        if let Some(invalid) = self.invalid {
            observe::warn_once(Warning::InvalidPolicy { name: &self.name, invalid });
        }
    }

    /// Returns the verdict of `rules` on a failure.
    pub(super) fn verdict<'e, E>(
        &self,
        rules: &ErrorRules<E>,
        failed: &'e FailedAttempt<'e, E>,
        when_of_call: Option<&mut dyn FnMut(&E) -> bool>,
    ) -> Verdict<'e> {
        let needs_class = self.breaker.is_some() || self.quota.is_some() || self.end.history > 0;
        rules.verdict(&self.lists, needs_class, failed, when_of_call)
    }

    /// Returns the breaker's permit for an attempt, or else the end of the call, or `None` if a
    /// wait follows.
    #[inline]
    pub(super) fn admit<'r, T, E, Timer: CallTiming + Default>(
        &'r self,
        rules: &ErrorRules<E>,
        call: &mut RunSession<'r, T, E, Timer>,
    ) -> Result<Option<Permit<'r>>, Option<End<T, E>>> {
        let Some(breaker) = &self.breaker else { return Ok(None) };
        match call.try_acquire(breaker.of_call()) {
            Ok(permit) => Ok(Some(permit)),
            Err(rejected) => Err(self.refused(rules, call, rejected.into())),
        }
    }

    #[cold]
    fn refused<'r, T, E, Timer: CallTiming + Default>(
        &'r self,
        rules: &ErrorRules<E>,
        call: &mut RunSession<'r, T, E, Timer>,
        rejected: Interrupted,
    ) -> Option<End<T, E>> {
        let context = self.context();
        match call.refused(context, &rejected) {
            Next::GiveUp(how) => {
                let history = call.take_history();
                let last = take(call).last_or(rejected, Result::interrupted);
                let end = ended(last, how, rules.source_of);
                Some(end.map_err(|error| error.with_history(history)))
            }
            Next::Wait => {
                call.begin_wait(context.quota, context.breaker);
                None
            }
        }
    }

    #[inline]
    pub(super) fn succeeded<T, E, Timer: CallTiming>(
        &self,
        call: RunSession<'_, T, E, Timer>,
        permit: Option<Permit<'_>>,
    ) {
        if let Some(permit) = permit {
            permit.success();
        }
        call.succeeded(self.origin(), self.quota.as_ref().map(AsQuota::of_call));
    }

    /// Breaks with the result of the call, or continues if a wait follows.
    #[cold]
    pub(super) fn failed<'r, T, E, Timer: CallTiming + Default>(
        &'r self,
        rules: &ErrorRules<E>,
        call: &mut RunSession<'r, T, E, Timer>,
        permit: Option<Permit<'_>>,
        failed: FailedOutcome<'_, T, E>,
    ) -> ControlFlow<End<T, E>> {
        *call = self.decide(rules, take(call), permit, failed)?;
        let quota = self.context().quota;
        if quota.is_some() {
            call.begin_wait(quota, None);
        }
        ControlFlow::Continue(())
    }

    /// Breaks with the result of the call, or continues with a call whose wait follows.
    pub(super) fn decide<T, E, K: Keeps<AttemptResult<T, E>>, Timer: CallTiming>(
        &self,
        rules: &ErrorRules<E>,
        mut call: Session<K, Timer>,
        permit: Option<Permit<'_>>,
        failed: FailedOutcome<'_, T, E>,
    ) -> ControlFlow<End<T, E>, Session<K, Timer>> {
        self.warn();
        let FailedOutcome { outcome, value, attempt, can_repeat, may_hedge, report, .. } = failed;
        let value = value.unwrap_or(&PickedValue);
        let asked = match &outcome {
            Err(AttemptError::Error(error)) => FailedAttempt::Error(error),
            Err(AttemptError::Interrupted(interrupted)) => FailedAttempt::Interrupted(interrupted),
            Ok(_) => FailedAttempt::Value(value),
        };
        let adjust = |wait| rules.adjusted(&asked, wait);
        let decided = report.verdict(rules.shown(&asked));
        let mut verdict = decided.unwrap_or_else(|| self.verdict(rules, &asked, failed.when));
        report.extend(&mut verdict);
        if rules.adjust_waits() {
            verdict = verdict.adjusted(&adjust);
        }
        if let Some(attempt) = attempt {
            verdict = verdict.ruled_by(attempt);
        }
        let context = CallContext { may_hedge, can_repeat, ..self.context() };
        match call.failed(context, permit, verdict) {
            Next::Wait => {
                if failed.on_retry.is_some() || rules.listen() {
                    let event = call.event(&context, attempt_failure(&outcome));
                    rules.on_retry(&event);
                    if let Some(listener) = failed.on_retry {
                        listener.call(&event, Seal);
                    }
                }
                // Only these can end a call before it fails again. Otherwise, the outcome is
                // dropped before the wait: a response may hold a connection.
                if context.breaker.is_some() || call.timer.timing().has_deadline() {
                    call.keep(outcome);
                }
                ControlFlow::Continue(call)
            }
            Next::GiveUp(how) => {
                let history = call.take_history();
                let last = call.end(outcome);
                let end = ended(last, how, rules.source_of);
                ControlFlow::Break(end.map_err(|error| error.with_history(history)))
            }
        }
    }
}
