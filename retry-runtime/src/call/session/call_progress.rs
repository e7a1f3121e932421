//! [`CallProgress`]: the progress of a call.
//!
//! It is part of the one allocation that a waiting call makes, so it is small: durations are
//! nanoseconds, capped at 584 years, and what few calls have is behind a pointer of its own.

mod decision;

use core::fmt;
use core::mem;
use core::time::Duration;

use retry_rules::{Attempts, Policy};

use crate::base::clock::nanos_of;
use crate::call::call_context::CallContext;
use crate::call::call_state::CallState;
use crate::call::nested::{InnerCalls, Moments};
use crate::event::Event;
use crate::observe;
use crate::outcome::ended::{Ended, Reason};
use crate::outcome::past_failure::PastFailure;
use crate::protect::breaker::StagePass;
use crate::protect::quota::RetryQuota;
use crate::site::Origin;

pub use self::decision::Next;

/// The progress of a call: its attempts and waits so far.
pub(super) struct CallProgress {
    pub(super) made: u32,
    /// The tokens that the current retry took from the quota, to be returned if it succeeds or is
    /// not made.
    pub(super) cost: u32,
    moments: Moments,
    waited: u64,
    /// [`NO_DELAY`] before the first wait, and after a new beginning.
    delay: u64,
    /// `true` if the last outcome was a value.
    pub(super) ended_in_value: bool,
    /// Set if a timer has been set for the wait under way.
    pub(super) is_sleeping: bool,
    /// Set while the call waits.
    pub(super) is_waiting: bool,
    rare: Option<Box<RareState>>,
}

const NO_DELAY: u64 = u64::MAX;

/// The state that few calls have.
#[derive(Debug, Default)]
struct RareState {
    /// Attempts that the open breaker refused: they count against the policy's limit, but were not
    /// made.
    refused: u32,
    /// The attempts and waits that no longer count against the limits.
    forgiven: Forgiven,
    /// The retried calls inside this one.
    inside: Option<InnerCalls>,
    /// The trace of the last attempt or refusal in a stage of the breaker.
    stage_pass: StagePass,
    /// The policy as it was at the first failure, if it is known only at runtime.
    policy: Option<Policy>,
    /// The wait that the server asked for with the last failure.
    asked: Option<Duration>,
    /// The last failures, if the error of the call keeps them.
    history: Vec<PastFailure>,
}

/// The attempts and the waits that no longer count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forgiven {
    /// The attempts before the last reset.
    made: u32,
    /// The waits before the last reset.
    waited: u64,
    /// The failed attempts since the last reset that do not count.
    uncounted: u32,
}

impl Forgiven {
    /// Returns the limit on all attempts, including those that do not count.
    pub(super) fn extends(self, attempts: Attempts) -> Attempts {
        match attempts {
            Attempts::Limited(attempts) => {
                Attempts::Limited(attempts.saturating_add(self.made).saturating_add(self.uncounted))
            }
            Attempts::Unlimited => Attempts::Unlimited,
        }
    }
}

/// A call has succeeded at its first attempt: only tests observe it.
#[inline(always)]
#[cfg_attr(
    not(feature = "testing"),
    expect(unused_variables, clippy::needless_pass_by_value, reason = "nobody looks on")
)]
pub(crate) fn succeeded_first_try<'o>(origin: impl Into<Origin<'o>>) {
    #[cfg(feature = "testing")]
    crate::test_hooks::succeeded(origin.into().name, 1);
}

/// Returns whether a test makes waits end at once.
fn skips_waits() -> bool {
    #[cfg(feature = "testing")]
    let skips = crate::test_hooks::skips_waits();
    #[cfg(not(feature = "testing"))]
    let skips = false;
    skips
}

impl CallProgress {
    /// Nothing has failed yet.
    pub(super) const NOTHING: Self = Self {
        made: 0,
        cost: 0,
        moments: Moments::NONE,
        waited: 0,
        delay: NO_DELAY,
        ended_in_value: false,
        is_sleeping: false,
        is_waiting: false,
        rare: None,
    };

    /// The progress of a call that goes on, made in this process or in another one.
    pub(super) fn resumed(behind: CallState) -> Self {
        let CallState { attempts: made, waited, last_delay, uncounted } = behind;
        let mut progress = Self { made, waited: nanos_of(waited), ..Self::NOTHING };
        progress.set_delay(last_delay);
        if uncounted > 0 {
            progress.rare().forgiven.uncounted = uncounted;
        }
        progress
    }

    /// The progress, to be stored. Attempts before a reset are among those that use up none.
    pub(super) fn state(&self) -> CallState {
        let Forgiven { made, uncounted, .. } = self.forgiven();
        CallState {
            attempts: self.made,
            waited: self.waited(),
            last_delay: self.delay(),
            uncounted: uncounted.saturating_add(made),
        }
    }

    /// Returns how long the call has waited, with the wait under way.
    pub(super) fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited)
    }

    /// The wait under way, or the last one.
    pub(super) fn delay(&self) -> Option<Duration> {
        (self.delay != NO_DELAY).then(|| Duration::from_nanos(self.delay))
    }

    fn set_delay(&mut self, delay: Option<Duration>) {
        self.delay = delay.map_or(NO_DELAY, |delay| nanos_of(delay).min(NO_DELAY - 1));
    }

    /// Returns how long to actually sleep for the decided wait.
    pub(super) fn wait(&self) -> Duration {
        if skips_waits() { Duration::ZERO } else { self.delay().unwrap_or_default() }
    }

    /// Returns whether there is nothing to sleep for.
    #[inline]
    pub(super) fn ends_at_once(&self) -> bool {
        matches!(self.delay, 0 | NO_DELAY) || skips_waits()
    }

    /// Returns the attempts and waits that no longer count.
    pub(super) fn forgiven(&self) -> Forgiven {
        self.rare.as_ref().map(|rare| rare.forgiven).unwrap_or_default()
    }

    /// The attempts that the open breaker refused.
    pub(super) fn refusals(&self) -> u32 {
        self.rare.as_ref().map_or(0, |rare| rare.refused)
    }

    pub(super) fn stage_pass(&self) -> StagePass {
        self.rare.as_ref().map_or(StagePass::NONE, |rare| rare.stage_pass)
    }

    fn keep_pass(&mut self, pass: StagePass) {
        if pass != self.stage_pass() {
            self.rare().stage_pass = pass;
        }
    }

    /// The policy, if it was evaluated after a failed attempt.
    pub(super) fn policy(&self) -> Option<Policy> {
        self.rare.as_ref()?.policy
    }

    /// Returns the wait that the server asked for with the last failure that was retried.
    fn asked(&self) -> Option<Duration> {
        self.rare.as_ref()?.asked
    }

    /// Records the wait that the server asked for with the last failure.
    pub(super) fn set_asked(&mut self, asked: Option<Duration>) {
        if asked.is_some() || self.rare.is_some() {
            self.rare().asked = asked;
        }
    }

    #[cold]
    fn rare(&mut self) -> &mut RareState {
        self.rare.get_or_insert_default()
    }

    /// The waits that a test skipped; they count towards a deadline as if they had been slept.
    fn unslept(&self) -> Duration {
        if skips_waits() { self.waited() } else { Duration::ZERO }
    }

    /// The wait has ended.
    pub(super) fn attempt_begins(&mut self) {
        self.is_waiting = false;
        self.moments.attempt_begins();
    }

    /// Keeps a failure, and the failures of hedges that ended before it.
    #[cold]
    #[inline(never)]
    fn keep_failure(&mut self, most: u8, failure: PastFailure, past: &[PastFailure]) {
        let history = &mut self.rare().history;
        history.extend_from_slice(past);
        history.push(failure);
        history.drain(..history.len().saturating_sub(usize::from(most)));
    }

    /// Returns `true` if a failure is kept.
    pub(super) fn keeps_failures(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| !rare.history.is_empty())
    }

    /// Takes the failures that were kept.
    pub(super) fn take_history(&mut self) -> Vec<PastFailure> {
        self.rare.as_mut().map(|rare| mem::take(&mut rare.history)).unwrap_or_default()
    }

    /// Records a decided wait, and the policy if it was evaluated for it.
    fn waits(&mut self, nanos: u64, context: &CallContext<'_>) {
        self.waited = self.waited.saturating_add(nanos);
        self.delay = nanos.min(NO_DELAY - 1);
        self.is_waiting = true;
        if context.is_evaluated {
            self.rare().policy.get_or_insert(*context.policy);
        }
    }

    /// Takes back what of the last wait was not slept.
    pub(super) fn slept_only(&mut self, slept: Duration) {
        let decided = self.delay().unwrap_or_default();
        let slept = slept.min(decided);
        self.waited = self.waited.saturating_sub(nanos_of(decided.saturating_sub(slept)));
        self.set_delay(Some(slept));
    }

    /// Returns how the call ends before another attempt.
    fn ended(&self, reason: Reason) -> Ended {
        let (attempts, waited, asked) = (self.made, self.waited(), self.asked());
        Ended { reason, attempts, waited, asked }
    }

    /// The call was cancelled while it waited. The dropped wait has already returned what the retry
    /// took from the quota.
    pub(super) fn cancelled(&self, context: &CallContext<'_>) -> Ended {
        let ended = self.ended(Reason::Cancelled);
        let error = &"cancelled while it waited for an attempt";
        self.gave_up(context, ended, true, self.ended_in_value, error);
        ended
    }

    /// The call was cancelled before an attempt.
    pub(super) fn cancelled_before_attempt(&self, context: &CallContext<'_>) -> Ended {
        let error = &"cancelled before the attempt began";
        self.rejected(context, self.ended(Reason::Cancelled), error)
    }

    fn rejected(
        &self,
        context: &CallContext<'_>,
        ended: Ended,
        rejected: &dyn fmt::Display,
    ) -> Ended {
        // Return what was taken for the retry, which is not made.
        if let Some(quota) = context.quota {
            quota.cancel(self.cost);
        }
        self.gave_up(context, ended, true, self.ended_in_value, rejected);
        ended
    }

    /// Reports a call that has ended without success; `rejected` if the next attempt was not
    /// admitted, and `with_value` if its outcome is a value.
    fn gave_up(
        &self,
        context: &CallContext<'_>,
        ended: Ended,
        rejected: bool,
        with_value: bool,
        error: &dyn fmt::Display,
    ) {
        let level = context.end_options().level(ended.reason, with_value);
        let Origin { name, site } = context.origin;
        let Ended { reason, attempts, waited, asked: _ } = ended;
        let gave_up = Event::GaveUp { name, reason, attempts, waited, rejected, level, error };
        observe::emit_for(site, &gave_up);
        self.end(context.origin, attempts);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn recovered(&self, origin: Origin<'_>, quota: Option<&RetryQuota>) {
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
        let recovered = Event::Recovered { name: origin.name, attempt, waited: self.waited() };
        observe::emit_for(origin.site, &recovered);
        self.end(origin, attempt);
    }

    /// Called when a call that failed has ended after `attempts`.
    fn end(&self, origin: Origin<'_>, attempts: u32) {
        let inside = self.rare.as_ref().and_then(|rare| rare.inside.as_ref());
        // The same function running beside itself in one task is not nested.
        if let Some(inside) = inside.filter(|inside| inside.name != *origin.name) {
            let InnerCalls { name: inner, attempts: inner_attempts } = inside;
            let (name, retries) = (origin.name, self.made);
            observe::emit(&Event::Nested { name, retries, inner, inner_attempts: *inner_attempts });
        }
        self.moments.call_ended(origin.name, attempts, inside);
    }
}
