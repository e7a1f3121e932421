//! The decision after a failure or a refusal: to wait, or to end the call.

use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;

use retry_rules::{Bound, Field, Fields, Jitter, Policy};

use super::{CallProgress, Forgiven, NO_DELAY, skips_waits};
use crate::base::clock::nanos_of;
use crate::base::random;
use crate::call::call_context::{CallContext, LimitKind, Timing};
use crate::call::nested::{self, InnerCalls};
use crate::call::verdict::{Verdict, longer};
use crate::classify::Class;
use crate::event::Event;
use crate::event::warning::Warning;
use crate::observe;
use crate::outcome::ended::{Ended, Reason};
use crate::outcome::interrupted::Interrupted;
use crate::outcome::past_failure::PastFailure;
use crate::protect::breaker::{CircuitBreaker, Permit, StagePass};
use crate::protect::quota::Reservation;
use crate::site::Site;

/// Set in the page of a browser, whose thread cannot sleep.
const IS_PAGE: bool = cfg!(all(target_family = "wasm", target_os = "unknown"));

/// The step after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// Wait, then try again.
    Wait,
    /// The call is over.
    GiveUp(Ended),
}

/// Reports, once, what does not work as the author of the policy expects.
fn warn_of(context: &CallContext<'_>, policy: &Policy) {
    /// The lists of delays are the program's, so the first function reports them.
    static LISTS_REPORTED: AtomicBool = AtomicBool::new(false);

    let name = context.origin.name;
    if let Some(lists) = policy.get_backoff().excess_of_lists() {
        if !LISTS_REPORTED.swap(true, Ordering::Relaxed) {
            observe::warn_once(Warning::ManyDelayLists { name, lists });
        }
    }
    if let (false, Some(hedge)) = (context.may_hedge, policy.get_hedge()) {
        observe::warn_once(Warning::HedgeNotObeyed { name, hedge });
    }
}

/// Reports, once, that failures which are to use up no attempt do, because nothing else ends a call
/// of this policy.
#[cold]
fn warn_of_no_end(context: &CallContext<'_>, policy: &Policy) {
    let written = Fields::NONE.with(Field::Uncounted);
    observe::warn_invalid(context.origin, policy.nearest_valid_written(written).1);
}

/// The cause for which a breaker has refused a call.
#[derive(Clone, Copy)]
enum RefusalCause {
    /// It is open, which uses up an attempt.
    Open,
    /// It is half-open, and its probes are taken, which does not: it may end at any time, and
    /// often.
    Probing,
    /// It holds all calls, which does not either: no call is made.
    Held,
}

impl RefusalCause {
    /// Returns whether the refusal uses up an attempt. If a test skips waits, no time passes that
    /// would end a stage of the breaker: a call without that limit would wait permanently.
    fn uses_up_attempt(self) -> bool {
        match self {
            Self::Open => true,
            Self::Probing => skips_waits(),
            Self::Held => false,
        }
    }
}

/// Returns how long the breaker stays open; zero if it is not open or only observes.
fn open_for(breaker: &CircuitBreaker) -> Result<Duration, Reason> {
    if breaker.until_admits() == Some(Duration::ZERO) {
        return Ok(Duration::ZERO);
    }
    match breaker.remaining() {
        // Forced open, until it is reset.
        Duration::MAX => Err(Reason::CircuitOpen),
        remaining => Ok(remaining),
    }
}

/// Ends a hold whose end a test does not wait for: calls would be rejected permanently otherwise,
/// because a hold uses up no attempt.
fn skip_hold(context: &CallContext<'_>) {
    if skips_waits() {
        context.breaker.into_iter().for_each(CircuitBreaker::end_hold);
    }
}

impl CallProgress {
    /// Decides what follows the failure of an attempt, and reports it.
    pub(in crate::call::session) fn failed(
        &mut self,
        context: &CallContext<'_>,
        permit: Option<Permit<'_>>,
        verdict: &Verdict<'_>,
    ) -> Next {
        self.keep_pass(permit.as_ref().map_or(StagePass::NONE, Permit::stage_pass));
        if let Some(permit) = permit {
            match context.timed_out() {
                // Whatever the matchers say: a server that hangs has to open the breaker.
                Some(LimitKind::Timeout) => permit.failure_with(&verdict.error),
                // The caller ran out of time, which says nothing about the other side.
                Some(LimitKind::Deadline) => drop(permit),
                None => verdict.report(permit),
            }
        }
        // One check after another: a tuple would evaluate all of them first.
        if self.made == 0 {
            if let Some(quota) = context.quota {
                quota.call_ended();
            }
        }
        if let Some(more) = self.moments.attempt_ended() {
            let before = self.rare().inside.take().map_or(0, |before| before.attempts);
            let attempts = before.saturating_add(more.attempts);
            self.rare().inside = Some(InnerCalls { attempts, ..more });
        }
        if !context.is_evaluated {
            if let Some(site) = context.origin.site {
                site.learn(context.policy);
            }
        }
        let policy = &*context.effective_policy();
        warn_of(context, policy);
        let judgement = &verdict.judgement;
        if judgement.was_reset {
            let forgiven = Forgiven { made: self.made, waited: self.waited, uncounted: 0 };
            let rare = self.rare();
            (rare.refused, rare.forgiven) = (0, forgiven);
            self.delay = NO_DELAY;
        }
        let attempt = self.made.saturating_add(1);
        let is_timeout = context.timed_out() == Some(LimitKind::Timeout);
        let is_uncounted = judgement.is_uncounted(is_timeout);
        let free = policy.unlimited();
        let free = match context.postponable {
            Some(_) => Some(free.with_budget(Bound::None).with_max_elapsed(Bound::None)),
            None if is_uncounted && !judgement.may_never_end && !policy.is_bounded_by_time() => {
                warn_of_no_end(context, policy);
                None
            }
            None => is_uncounted.then_some(free),
        };
        let limits = free.as_ref().unwrap_or(policy);
        let next = self.next_wait(context, limits, attempt, verdict).and_then(|next| {
            if context.postponable.is_some_and(|longest| next.0 > longest) {
                self.allows_attempt(policy, attempt)?;
                self.allows_wait(context, policy, next.0)?;
            } else if free.is_some() {
                let forgiven = &mut self.rare().forgiven;
                forgiven.uncounted = forgiven.uncounted.saturating_add(1);
            }
            Ok(next)
        });
        let history = context.end_options().history;
        if history > 0 {
            let wait = next.as_ref().ok().map(|(delay, _)| *delay);
            let failure = PastFailure::new(attempt, &verdict.error, judgement.class, wait);
            self.keep_failure(history, failure, verdict.past);
        }
        match next {
            Ok((delay, reservation)) => {
                let (name, waited) = (context.origin.name, self.waited());
                let attempts = self.forgiven().extends(policy.get_attempts());
                let (wait, error) = (delay, &verdict.error);
                let level = context.end_options().log_retries;
                let retry = Event::Retry { name, attempt, attempts, wait, waited, level, error };
                observe::emit_for(context.origin.site, &retry);
                self.set_asked(judgement.asked());
                skip_hold(context);
                self.made = attempt;
                self.ended_in_value = verdict.error.is_value();
                self.cost = reservation.map_or(0, Reservation::spend);
                self.waits(nanos_of(delay), context);
                Next::Wait
            }
            Err(reason) => {
                // An attempt that the deadline cut off leaves the failure before it as the last
                // one.
                let is_late = context.timed_out() == Some(LimitKind::Deadline);
                let with_value = verdict.error.is_value();
                let asked = match context.breaker {
                    Some(breaker) if reason == Reason::Held => {
                        Some(breaker.held_for()).filter(|rest| !rest.is_zero())
                    }
                    _ => judgement.asked().or_else(|| self.asked().filter(|_| is_late)),
                };
                let ended = Ended { reason, attempts: attempt, waited: self.waited(), asked };
                self.gave_up(context, ended, false, with_value, &verdict.error);
                Next::GiveUp(ended)
            }
        }
    }

    /// Returns how long to wait after attempt `attempt`, and what the quota lends for the retry, or
    /// why not to retry.
    #[inline]
    fn next_wait<'q>(
        &self,
        context: &CallContext<'q>,
        policy: &Policy,
        attempt: u32,
        verdict: &Verdict<'_>,
    ) -> Result<(Duration, Option<Reservation<'q>>), Reason> {
        let number = attempt;
        let attempt = attempt.saturating_sub(self.forgiven().made);
        if context.timed_out() == Some(LimitKind::Deadline) {
            return Err(Reason::Deadline);
        }
        let judgement = &verdict.judgement;
        if !judgement.allows_retry() {
            return Err(Reason::NotRetryable);
        }
        self.allows_attempt(policy, number)?;
        if !verdict.can_repeat {
            return Err(Reason::NotRepeatable);
        }
        if nested::once() {
            return Err(Reason::Nested);
        }
        if context.is_cancelled {
            return Err(Reason::Cancelled);
        }
        // Only this jitter looks back.
        let previous = match policy.get_jitter() {
            Jitter::Decorrelated => self.delay(),
            _ => None,
        };
        let asked = judgement.hinted_wait();
        let waits =
            longer(asked, judgement.ruled).map(|wait| wait.max(judgement.least_wait(policy)));
        let (shortest, longest) = match waits {
            Some(hint) => policy.hint_interval(attempt, hint, previous),
            None => policy.wait_interval(attempt, previous),
        };
        let wait = random::between(shortest, longest);
        let mut delay = match verdict.wait_by(number, wait) {
            Some(ControlFlow::Break(())) => return Err(Reason::NotRetryable),
            Some(ControlFlow::Continue(own)) if own.is_zero() && policy.needs_waits() => wait,
            Some(ControlFlow::Continue(own)) => own,
            None if asked.is_some_and(|asked| asked > context.max_retry_after(policy)) => {
                return Err(Reason::RetryAfter);
            }
            None => wait,
        };
        if context.waits_for_breaker {
            if let Some(breaker) = context.breaker {
                delay = delay.max(open_for(breaker)?);
            }
        }
        if let Some(breaker) = context.breaker {
            delay = self.until_released(context, policy, breaker, delay)?;
        }
        self.allows_wait(context, policy, delay)?;
        let reservation = match context.quota {
            Some(quota) => {
                // Whatever the function's own error makes of it.
                let timeout = context.timed_out().map_or(Class::empty(), |_| Class::TIMEOUT);
                Some(quota.reserve(judgement.class.union(timeout)).ok_or(Reason::Quota)?)
            }
            None => None,
        };
        let admits = |breaker: &CircuitBreaker| breaker.admits_retry(self.stage_pass());
        if context.breaker.is_some_and(|breaker| !context.waits_for_breaker && !admits(breaker)) {
            return Err(Reason::CircuitOpen);
        }
        Ok((delay, reservation))
    }

    /// Returns the wait of at least `delay` that outlasts the hold of the breaker: until some time
    /// after its end, if the limits on time allow that, or else until its end.
    ///
    /// # Errors
    /// [`Reason::Held`] if the hold lengthens the wait to more than `max_retry_after`.
    fn until_released(
        &self,
        context: &CallContext<'_>,
        policy: &Policy,
        breaker: &CircuitBreaker,
        delay: Duration,
    ) -> Result<Duration, Reason> {
        let held_for = breaker.rejects_held_for();
        if held_for.is_zero() {
            return Ok(delay);
        }
        if held_for > delay.max(context.max_retry_after(policy)) {
            return Err(Reason::Held);
        }
        let spread = delay.max(held_for.saturating_add(breaker.hold_spread()));
        let is_allowed = self.allows_wait(context, policy, spread).is_ok();
        Ok(if is_allowed { spread } else { delay.max(held_for) })
    }

    /// Returns whether the limit on attempts allows another one after attempt `attempt`.
    fn allows_attempt(&self, policy: &Policy, attempt: u32) -> Result<(), Reason> {
        let Forgiven { made, uncounted, .. } = self.forgiven();
        let counted = attempt.saturating_sub(made).saturating_sub(uncounted);
        let is_allowed = policy.allows_after(counted.saturating_add(self.refusals()));
        is_allowed.then_some(()).ok_or(Reason::Attempts)
    }

    /// Returns whether the limits on time allow a wait of `delay`.
    #[inline]
    fn allows_wait(
        &self,
        context: &CallContext<'_>,
        policy: &Policy,
        delay: Duration,
    ) -> Result<(), Reason> {
        let is_blocking =
            || context.is_blocking || context.origin.site.is_some_and(Site::is_blocking);
        if IS_PAGE && !delay.is_zero() && is_blocking() {
            observe::warn_once(Warning::CannotWait { name: context.origin.name, wait: delay });
            return Err(Reason::Budget);
        }
        if policy.has_budget() || policy.has_max_elapsed() || context.timing.is_some() {
            self.is_within_limits(context, policy, delay)
        } else {
            Ok(())
        }
    }

    fn is_within_limits(
        &self,
        context: &CallContext<'_>,
        policy: &Policy,
        delay: Duration,
    ) -> Result<(), Reason> {
        let counted = self.waited.saturating_sub(self.forgiven().waited);
        let waited = Duration::from_nanos(counted).saturating_add(delay);
        let since_first = context.since_first;
        let by_the_clock = since_first.saturating_add(delay);
        if policy.get_budget().is_some_and(|budget| waited.max(by_the_clock) > budget) {
            return Err(Reason::Budget);
        }
        let timing = context.timing.unwrap_or(Timing::NONE);
        let ends = timing.ends_by(policy, self.unslept(), since_first, delay);
        ends.map_or(Ok(()), Err)
    }

    /// Decides what follows a rejection by the breaker, and reports it.
    pub(in crate::call::session) fn refused(
        &mut self,
        context: &CallContext<'_>,
        rejected: &Interrupted,
    ) -> Next {
        let held_for = rejected.held_for();
        let is_held = held_for.is_some();
        // A call that has failed waits for the end of a hold, as for its own server's wait.
        let may_wait = context.waits_for_breaker || is_held && self.made > 0;
        let reason = if is_held { Reason::Held } else { Reason::CircuitOpen };
        let waits = context.breaker.filter(|_| may_wait).ok_or(reason).and_then(|breaker| {
            let policy = &*context.effective_policy();
            // A hold refuses every call, whatever its place in the stage.
            if !is_held {
                self.keep_pass(breaker.pass_of_refused());
            }
            let (refusal, delay) = self.wait_for_breaker(context, policy, breaker, reason)?;
            Ok((breaker, refusal, delay))
        });
        match waits {
            Ok((breaker, refusal, delay)) => {
                let (name, breaker) = (context.origin.name, breaker.name());
                observe::emit(&Event::AwaitsBreaker { name, breaker, wait: delay });
                if refusal.uses_up_attempt() {
                    let rare = self.rare();
                    rare.refused = rare.refused.saturating_add(1);
                }
                skip_hold(context);
                self.waits(nanos_of(delay), context);
                Next::Wait
            }
            Err(reason) => {
                let ended = self.ended(reason);
                let ended = Ended { asked: held_for.or(ended.asked), ..ended };
                Next::GiveUp(self.rejected(context, ended, rejected))
            }
        }
    }

    /// Returns why the breaker has refused the call, and the longest wait for it, or why not to
    /// wait: for `reason`, or because of a limit.
    fn wait_for_breaker(
        &self,
        context: &CallContext<'_>,
        policy: &Policy,
        breaker: &CircuitBreaker,
        reason: Reason,
    ) -> Result<(RefusalCause, Duration), Reason> {
        let open_for = open_for(breaker)?;
        let refusal = match reason {
            Reason::Held => RefusalCause::Held,
            _ if open_for.is_zero() => RefusalCause::Probing,
            _ => RefusalCause::Open,
        };
        let Forgiven { made: forgiven, uncounted, .. } = self.forgiven();
        let used = self.made.saturating_sub(forgiven);
        let used = used.saturating_add(self.refusals()).saturating_add(1);
        let counted = used.saturating_sub(uncounted);
        if refusal.uses_up_attempt() && !policy.allows_after(counted) || nested::once() {
            return Err(reason);
        }
        if context.is_cancelled {
            return Err(Reason::Cancelled);
        }
        let delay = match refusal {
            RefusalCause::Open => open_for,
            RefusalCause::Held => Duration::ZERO,
            // For an unknown time: until a probe ends, and no longer than the backoff says.
            RefusalCause::Probing => {
                let (shortest, longest) = policy.wait_interval(used, self.delay());
                let by_curve = random::between(shortest, longest);
                // The time after which a probe that does not report makes room for another.
                let overdue = breaker.until_may_try(self.stage_pass()).unwrap_or_default();
                if by_curve.is_zero() { overdue } else { by_curve.min(overdue) }
            }
        };
        let delay = self.until_released(context, policy, breaker, delay)?;
        self.allows_wait(context, policy, delay)?;
        Ok((refusal, delay))
    }
}
