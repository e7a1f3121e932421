//! [`RetrierSettings`]: everything that governs a retrier whatever its errors are.

use core::mem;

use retry_rules::{Field, Fields, Invalid, Policy};

use crate::base::name::Name;
use crate::call::attempt::Attempt;
use crate::call::call_context::CallContext;
use crate::call::driver::{Around, Driver};
use crate::call::session::{Session, succeeded_first_try};
use crate::call::verdict::Verdict;
use crate::classify::Class;
use crate::event::warning::Warning;
use crate::observe;
use crate::protect::as_breaker::{AsBreaker, AsQuota};
use crate::protect::breaker::{CircuitBreaker, Permit};
use crate::protect::quota::RetryQuota;
use crate::protect::shared::Shared;
use crate::retrier::decider::{ErrorRules, FailedAttempt, MatcherLists, ReadClass};
use crate::site::Origin;
use crate::site::end_options::EndOptions;

/// Everything that governs a retrier whatever its errors are.
#[derive(Clone)]
pub(crate) struct RetrierSettings {
    /// The policy in force.
    pub(super) policy: Policy,
    /// Set if the policy has time limits, which count from the start of a call, or hedges.
    pub(super) needs_timer: bool,
    /// Set if an attempt needs nothing but to be made: no breaker, quota, time limit or hedge.
    pub(crate) is_plain: bool,
    /// The reason why the policy differs from the given one, if it does.
    invalid: Option<Invalid>,
    pub(super) name: Name,
    pub(super) lists: MatcherLists,
    /// Reads the class of a failure, if a list, a breaker, a quota or a history needs it: otherwise,
    /// the program does not contain the function.
    pub(super) read: Option<ReadClass>,
    pub(super) breaker: Option<Shared<CircuitBreaker>>,
    pub(super) quota: Option<Shared<RetryQuota>>,
    /// Set if calls wait until the breaker admits them.
    pub(super) waits_for_breaker: bool,
    pub(super) end: EndOptions,
}

/// The parts of a retrier that do not depend on its error type, behind one reference.
#[derive(Clone)]
pub(crate) struct Common<V> {
    pub(crate) settings: RetrierSettings,
    pub(super) values: V,
}

/// A call that needs a driver from its first attempt on.
pub(crate) struct NeedsDriver;

impl RetrierSettings {
    pub(super) const fn new(policy: Policy) -> Self {
        let (policy, invalid) = policy.nearest_valid();
        let needs_timer = policy.is_timed() || policy.has_max_elapsed() || policy.is_hedged();
        let name = Name::from_static("retrier");
        let lists = MatcherLists { retry_on: None, abort_on: None, uncounted: Class::empty() };
        Self {
            policy,
            needs_timer,
            is_plain: !needs_timer,
            invalid,
            name,
            lists,
            read: None,
            breaker: None,
            quota: None,
            waits_for_breaker: false,
            end: EndOptions::DEFAULT,
        }
    }

    /// The same settings with another policy.
    pub(super) fn with_policy(self, policy: Policy) -> Self {
        let Self { policy, needs_timer, invalid, .. } = Self::new(policy);
        let is_plain = !needs_timer && self.breaker.is_none() && self.quota.is_none();
        Self { policy, needs_timer, is_plain, invalid, ..self }
    }

    /// Returns whether a call may end before its service is ready: its breaker may reject it, and
    /// its deadline may pass.
    #[cfg(feature = "tower")]
    pub(crate) const fn awaits_readiness(&self) -> bool {
        self.breaker.is_some() || self.policy.get_deadline().is_some()
    }

    pub(super) const fn origin(&self) -> Origin<'_> {
        Origin::retrier(&self.name)
    }

    /// The context of a call, with the breaker and the quota.
    pub(super) fn context(&self) -> CallContext<'_> {
        CallContext {
            may_hedge: false,
            is_blocking: false,
            ..self.around(Some(self), false).context
        }
    }

    /// The surroundings of a call, which uses the breaker and the quota of `lent`; async, or one that
    /// blocks its thread.
    pub(super) fn around<'a, 'r: 'a>(
        &'a self,
        lent: Option<&'r Self>,
        is_async: bool,
    ) -> Around<'a, 'r> {
        let (breaker, quota) = (Self::breaker(lent), Self::quota(lent));
        let context = CallContext {
            breaker,
            quota,
            waits_for_breaker: self.waits_for_breaker,
            is_blocking: !is_async,
            may_hedge: is_async,
            end: self.end,
            ..CallContext::by(self.origin(), &self.policy)
        };
        Around { context, breaker, quota, limit: None }
    }

    #[inline(always)]
    fn breaker(lent: Option<&Self>) -> Option<&CircuitBreaker> {
        lent?.breaker.as_ref().map(AsBreaker::of_call)
    }

    #[inline(always)]
    fn quota(lent: Option<&Self>) -> Option<&RetryQuota> {
        lent?.quota.as_ref().map(AsQuota::of_call)
    }

    /// Returns the permit of the first attempt of a call, if there is a breaker.
    ///
    /// # Errors
    /// The call needs a driver, or as in `admit_first`.
    #[inline]
    pub(super) fn admit(&self, needs_driver: bool) -> Result<Option<Permit<'_>>, NeedsDriver> {
        match needs_driver {
            true => Err(NeedsDriver),
            false if self.is_plain => Ok(None),
            false => self.admit_first(),
        }
    }

    /// Returns the permit of the first attempt, if there is a breaker.
    ///
    /// # Errors
    /// The attempt has limits or hedges, or its breaker is not closed.
    #[inline(never)]
    pub(crate) fn admit_first(&self) -> Result<Option<Permit<'_>>, NeedsDriver> {
        match Self::breaker(Some(self)) {
            _ if self.needs_timer => Err(NeedsDriver),
            Some(breaker) => breaker.admit_closed().map(Some).map_err(|_| NeedsDriver),
            None => Ok(None),
        }
    }

    /// Begins a call that needs a driver from its first attempt on.
    pub(crate) fn driver<'r>(&self, is_async: bool) -> Driver<'r> {
        let driver = Driver::new(&self.policy, self.needs_timer);
        if is_async { driver } else { driver.blocking() }
    }

    /// The first attempt, which has no limits or hedges, has succeeded.
    #[inline]
    pub(super) fn succeeded_first(&self, permit: Option<Permit<'_>>) {
        if self.is_plain {
            // There is none, and nothing to drop.
            mem::forget(permit);
            succeeded_first_try(self.origin());
        } else {
            self.succeeded_protected(permit);
        }
    }

    #[inline(never)]
    fn succeeded_protected(&self, permit: Option<Permit<'_>>) {
        if let Some(permit) = permit {
            permit.success();
        }
        Session::<()>::new().succeeded(self.origin(), Self::quota(Some(self)));
    }

    /// Returns whether each failure uses up an attempt.
    #[cfg(feature = "tower")]
    pub(crate) fn counts_all(&self) -> bool {
        self.lists.uncounted.is_empty()
    }

    /// Returns the rules that the given policy breaks.
    pub(super) fn invalid(&self) -> Option<Invalid> {
        if self.lists.uncounted.is_empty() {
            return self.invalid;
        }
        let written = Fields::NONE.with(Field::Uncounted);
        self.invalid.or_else(|| self.policy.nearest_valid_written(written).1)
    }

    /// Returns the context of the first attempt.
    pub(super) fn first_attempt(&self) -> Attempt {
        Session::<()>::new().attempt(&self.around(None, true).context)
    }

    /// Reports, once, that the policy in force is not the one that was given, and that `uncounted` has
    /// no effect.
    pub(super) fn warn<E>(&self, rules: &ErrorRules<E>, failed: &FailedAttempt<'_, E>) {
        observe::warn_invalid(self.origin(), self.invalid());
        // A timeout of the policy has a class whatever the errors are.
        let is_listed = !Class::TIMEOUT.contains(self.lists.uncounted);
        if is_listed && rules.read_no_class(failed) {
            observe::warn_once(Warning::UncountedNotObeyed { name: &self.name });
        }
    }

    /// Returns the verdict of `rules` on a failure.
    pub(super) fn verdict<'e, E>(
        &self,
        rules: &ErrorRules<E>,
        failed: &'e FailedAttempt<'e, E>,
        when_of_call: Option<&mut dyn FnMut(&E) -> bool>,
    ) -> Verdict<'e> {
        self.warn(rules, failed);
        rules.verdict(&self.lists, self.read, failed, when_of_call)
    }
}
