//! What a call is bound to: its place, its policy, what protects it, and what
//! it knows of the time.

use core::time::Duration;
use std::borrow::Cow;

use retry_rules::Policy;

use crate::base::clock::{self, Instant};
use crate::protect::breaker::CircuitBreaker;
use crate::protect::quota::RetryQuota;
use crate::site::{Origin, Site};

/// What a call is bound to. Made where it is needed, on the failure path.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    pub(crate) origin: Origin<'a>,
    /// The policy that stands in the source; see [`obeyed`](Self::obeyed).
    pub(crate) policy: &'a Policy,
    pub(crate) breaker: Option<&'a CircuitBreaker>,
    pub(crate) quota: Option<&'a RetryQuota>,
    pub(crate) timing: Timing,
    /// How long ago the call failed first, where its waits outlast the process.
    pub(crate) since_first: Duration,
}

impl<'a> Plan<'a> {
    /// Of an annotated function.
    #[inline(always)]
    pub fn of(site: &'static Site) -> Self {
        const NONE: &Policy = &Policy::new();

        Self::by(site, site.compiled().unwrap_or(NONE))
    }

    /// The same, where the policy depends on the function's generic parameters.
    #[inline(always)]
    pub fn by(origin: impl Into<Origin<'a>>, policy: &'a Policy) -> Self {
        Self {
            origin: origin.into(),
            policy,
            breaker: None,
            quota: None,
            timing: Timing::NONE,
            since_first: Duration::ZERO,
        }
    }

    /// The breaker that admits the attempts.
    #[inline(always)]
    pub fn breaker(mut self, breaker: &'a CircuitBreaker) -> Self {
        self.breaker = Some(breaker);
        self
    }

    /// The quota that pays for the retries.
    #[inline(always)]
    pub fn quota(mut self, quota: &'a RetryQuota) -> Self {
        self.quota = Some(quota);
        self
    }

    /// When the call began, and what has cut its last attempt off.
    #[inline(always)]
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// The policy that the call obeys now: it may have been changed since the
    /// program was compiled.
    pub(crate) fn obeyed(&self) -> Cow<'a, Policy> {
        #[cfg(feature = "overrides")]
        if let Some(policy) = crate::overrides::obeyed(self.origin, self.policy) {
            return Cow::Owned(policy);
        }
        Cow::Borrowed(self.policy)
    }
}

/// What a call with bounds in time knows of it; nothing for one without.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    deadline: Option<Deadline>,
    pub(crate) cut: Option<LimitKind>,
}

/// The bound of a whole call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    started: Instant,
    pub(crate) limit: Duration,
}

/// What has cut an attempt off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitKind {
    /// The bound of the attempt.
    Timeout,
    /// The bound of the call.
    Deadline,
}

impl Timing {
    /// Of a call without a deadline: nothing, and no clock is read.
    pub const NONE: Self = Self { deadline: None, cut: None };

    /// Of a call that begins now. Reads the clock only for a policy with a deadline.
    pub fn start(plan: &Plan<'_>) -> Self {
        Self::of(&plan.obeyed())
    }

    pub(crate) fn of(policy: &Policy) -> Self {
        let deadline = policy.get_deadline();
        let deadline = deadline.map(|limit| Deadline { started: clock::now(), limit });
        Self { deadline, cut: None }
    }

    pub(crate) const fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    /// Whether the deadline has cut the last attempt off.
    pub const fn is_cut(&self) -> bool {
        matches!(self.cut, Some(LimitKind::Deadline))
    }

    /// Whether the last attempt was cut off, by what bound ever: a timeout,
    /// whatever the function's own error makes of it.
    pub(crate) const fn is_timeout(&self) -> bool {
        self.cut.is_some()
    }

    /// Whether the deadline falls inside a wait of `delay` that begins now.
    pub(crate) fn falls_inside(&self, delay: Duration) -> bool {
        self.deadline
            .is_some_and(|deadline| deadline.elapsed().saturating_add(delay) >= deadline.limit)
    }
}

impl Deadline {
    fn elapsed(&self) -> Duration {
        clock::now().saturating_duration_since(self.started)
    }

    /// When it is; `None`: never, for no clock can say it.
    pub(crate) fn at(&self) -> Option<Instant> {
        clock::after(self.started, self.limit)
    }
}
