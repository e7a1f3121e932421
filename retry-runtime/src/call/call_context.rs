//! The context of a call: its site, its policy, its breaker and quota, and its times.

use core::time::Duration;
use std::borrow::Cow;

use retry_rules::{Bound, Policy};

use crate::base::clock::{self, Instant};
use crate::event::warning::Warning;
use crate::observe;
use crate::outcome::ended::Reason;
use crate::protect::breaker::CircuitBreaker;
use crate::protect::quota::RetryQuota;
use crate::site::end_options::EndOptions;
use crate::site::{Origin, Site};

/// The context of a call. Built where it is needed, on the failure path.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
pub struct CallContext<'a> {
    pub(crate) origin: Origin<'a>,
    /// The policy written in the source; see [`effective_policy`](Self::effective_policy).
    pub(crate) policy: &'a Policy,
    pub(crate) breaker: Option<&'a CircuitBreaker>,
    pub(crate) quota: Option<&'a RetryQuota>,
    /// The times of the call, if it has limits.
    pub(crate) timing: Option<Timing>,
    /// The time since the call first failed, for a call that another process or run began.
    pub(crate) since_first: Duration,
    /// Set if the waits of the call outlast the process.
    pub(crate) is_stored: bool,
    /// The longest wait with which the failure uses up no attempt and no time, if it may.
    pub(crate) postponable: Option<Duration>,
    /// Set if the call waits when the breaker does not admit it.
    pub(crate) waits_for_breaker: bool,
    /// Set if the thread sleeps during waits of a retrier; a function has that in its site.
    pub(crate) is_blocking: bool,
    /// Set if the call has been cancelled.
    pub(crate) is_cancelled: bool,
    /// Set if attempts may run at once, as the policy says.
    pub(crate) may_hedge: bool,
    /// Set if the policy was evaluated in this call, so that the session has to keep it.
    pub(crate) is_evaluated: bool,
    /// The options of a retrier; a function has them in its site.
    pub(crate) end: EndOptions,
}

impl<'a> CallContext<'a> {
    /// The context of an annotated function.
    #[inline(always)]
    pub fn of(site: &'static Site) -> Self {
        const NONE: &Policy = &Policy::new();

        Self::by(site, site.compiled().unwrap_or(NONE))
    }

    /// A context whose policy depends on the function's generic parameters.
    #[inline(always)]
    pub fn by(origin: impl Into<Origin<'a>>, policy: &'a Policy) -> Self {
        Self {
            origin: origin.into(),
            policy,
            breaker: None,
            quota: None,
            timing: None,
            since_first: Duration::ZERO,
            is_stored: false,
            postponable: None,
            waits_for_breaker: false,
            is_blocking: false,
            is_cancelled: false,
            may_hedge: false,
            is_evaluated: false,
            end: EndOptions::DEFAULT,
        }
    }

    /// A context whose policy is known only at runtime.
    #[inline(always)]
    pub fn at_runtime(site: &'static Site, policy: &'a Policy) -> Self {
        Self { is_evaluated: true, ..Self::by(site, policy) }
    }

    retry_rules::accessors! {
        /// Sets the breaker that admits the attempts.
        #[inline(always)]
        pub fn breaker(self, breaker: &'a CircuitBreaker) -> Self { breaker: Some(breaker) }

        /// Sets whether the call has been cancelled.
        #[inline(always)]
        pub fn cancelled(self, is_cancelled: bool) -> Self { is_cancelled: is_cancelled }

        /// Sets the quota that pays for the retries.
        #[inline(always)]
        pub fn quota(self, quota: &'a RetryQuota) -> Self { quota: Some(quota) }

        /// Makes the call wait when the breaker does not admit it.
        #[inline(always)]
        pub fn waits_for_breaker(self) -> Self { waits_for_breaker: true }

        /// Allows attempts to run at once, as the policy says.
        #[inline(always)]
        pub fn may_hedge(self) -> Self { may_hedge: true }
    }

    /// Sets when the call began, and the limit that has ended its last attempt.
    #[inline(always)]
    pub(crate) fn set_timing(&mut self, timing: Timing) {
        // A constant, for a function without time limits: nothing is copied.
        self.timing = timing.is_known().then_some(timing);
    }

    /// Returns the options about the end of the call.
    pub(crate) fn end_options(&self) -> EndOptions {
        self.origin.site.map_or(self.end, Site::end_options)
    }

    /// Returns the limit that has ended the last attempt.
    pub(crate) fn timed_out(&self) -> Option<LimitKind> {
        self.timing?.timed_out
    }

    /// Returns the longest wait that a server may ask for, by `policy`. A call whose waits outlast
    /// the process has no such bound unless one is set.
    pub(crate) fn max_retry_after(&self, policy: &Policy) -> Duration {
        match policy.max_retry_after_bound() {
            Bound::None if self.is_stored => Duration::MAX,
            _ => policy.get_max_retry_after(),
        }
    }

    /// The policy in force now: an override may have changed it since the program was compiled.
    pub(crate) fn effective_policy(&self) -> Cow<'a, Policy> {
        #[cfg(feature = "overrides")]
        if let Some(policy) = crate::overrides::effective_policy(self.origin, self.policy) {
            return Cow::Owned(policy);
        }
        Cow::Borrowed(self.policy)
    }
}

/// The times of a call with time limits; empty without limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// The moment at which the call began.
    started: Option<Instant>,
    deadline: Option<Duration>,
    /// Set if attempts can be cut off; otherwise, a deadline is checked between them.
    pub(crate) can_cut: bool,
    /// The limit that has ended the last attempt.
    pub(crate) timed_out: Option<LimitKind>,
}

/// The limit that ended an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// The bound of the attempt.
    Timeout,
    /// The bound of the call.
    Deadline,
}

impl Timing {
    /// For a call without time limits: no clock is read.
    pub const NONE: Self = Self { started: None, deadline: None, can_cut: false, timed_out: None };

    /// For a call that begins now. Reads the clock only if the policy has a deadline or another
    /// limit that needs it.
    pub fn start(context: &CallContext<'_>) -> Self {
        let policy = context.effective_policy();
        // The timeout of a runtime policy, which a function that is not async cannot obey.
        if let Some(timeout) = policy.get_timeout() {
            let name = context.origin.name;
            observe::warn_once(Warning::TimeoutNotObeyed { name, timeout });
        }
        Self::of(&policy, false)
    }

    /// For a call with this policy that begins now, and whose attempts `can_cut` off.
    #[inline]
    pub(crate) fn of(policy: &Policy, can_cut: bool) -> Self {
        let is_limited = policy.has_deadline() || policy.has_max_elapsed();
        let (started, deadline) = (is_limited.then(clock::now), policy.get_deadline());
        Self { started, deadline, can_cut, timed_out: None }
    }

    /// Returns when the deadline falls (`None`: beyond what the clock can represent, so never), and
    /// its length.
    pub(crate) fn deadline(&self) -> Option<(Option<Instant>, Duration)> {
        let (started, limit) = (self.started?, self.deadline?);
        Some((clock::after(started, limit), limit))
    }

    /// Returns whether the call has limits: else nothing is known of the time.
    #[inline]
    pub(crate) const fn is_limited(&self) -> bool {
        self.started.is_some() || self.deadline.is_some()
    }

    const fn is_known(&self) -> bool {
        self.is_limited() || self.timed_out.is_some()
    }

    /// Returns whether the deadline may cut an attempt off.
    pub(crate) const fn cuts_attempts(&self) -> bool {
        self.can_cut && self.deadline.is_some()
    }

    /// Returns whether the deadline has ended the last attempt.
    pub(crate) const fn is_late(&self) -> bool {
        matches!(self.timed_out, Some(LimitKind::Deadline))
    }

    /// Returns why no attempt may follow a wait of `delay` that begins now: the deadline falls
    /// within the wait, or the wait ends later than `max_elapsed` after the call began. `unslept` is
    /// the sum of the waits that a test has skipped, and `behind` is the time before this run.
    pub(crate) fn ends_by(
        &self,
        policy: &Policy,
        unslept: Duration,
        behind: Duration,
        delay: Duration,
    ) -> Option<Reason> {
        let max_elapsed = policy.get_max_elapsed();
        if self.deadline.is_none() && max_elapsed.is_none() {
            return None;
        }
        let elapsed = self.started.map(|started| clock::now().saturating_duration_since(started));
        let elapsed = elapsed.unwrap_or_default().saturating_add(unslept).saturating_add(delay);
        if self.deadline.is_some_and(|deadline| elapsed >= deadline) {
            Some(Reason::Deadline)
        } else if max_elapsed.is_some_and(|max| elapsed.saturating_add(behind) > max) {
            Some(Reason::MaxElapsed)
        } else {
            None
        }
    }
}
