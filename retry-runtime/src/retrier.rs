//! [`Retrier`]: the same sessions without a macro, for closures; and the types that its
//! methods return, for those who keep one in a field.

#[cfg(feature = "serde")]
pub(crate) mod config;
pub(crate) mod decider;
pub mod durable;

use core::fmt::{self, Display};
use core::future::Future;
use core::mem::take;
use core::time::Duration;

use retry_rules::Policy;

use crate::base::name::Name;
use crate::call::attempt_timer::{AttemptTimer, CallTiming, Timed};
use crate::call::last_failure::LastFailure;
use crate::call::plan::{Plan, Timing};
use crate::call::session::{Next, Session, Verdict};
use crate::call::tracked::{Tracked, TrackedAttempt, gave_up, tracked, tracked_failure};
use crate::classify::matchers::Matcher;
use crate::classify::probe::ErrorDisplay;
use crate::event::retry_event::RetryEvent;
use crate::outcome::Interruptible as _;
use crate::outcome::error::{AttemptError, Interrupted, RetryError};
use crate::protect::breaker::{CircuitBreaker, Permit};
use crate::protect::lend;
use crate::protect::quota::RetryQuota;
use crate::protect::shared::Shared;
use crate::site::Origin;

pub use self::decider::{
    Classified, Decider, Everything, Listed, MatchOutcome, OnRetry, RetryAfter, When,
};

/// Retries a closure by a policy that is known when the program runs.
///
/// Same sessions, same decisions, same events as the attribute. It always tells
/// how a call ended: its error is a [`RetryError`].
///
/// ```
/// use retry_runtime::matchers::{network, timeout};
/// use retry_runtime::{Backoff, Policy, Retrier};
/// use std::io::{Error, ErrorKind};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let mut calls = 0;
/// let result = Retrier::new(Policy::new().attempts(5))
///     .retry_on([network, timeout])
///     .run(|| {
///         calls += 1;
///         let outcome = if calls < 3 { Err(Error::from(ErrorKind::ConnectionRefused)) } else { Ok(calls) };
///         async move { outcome }
///     })
///     .await;
/// assert_eq!(result.unwrap(), 3);
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a retrier does nothing until it runs something"]
pub struct Retrier<M = Everything> {
    policy: Policy,
    matchers: M,
    name: Name,
    breaker: Option<Shared<CircuitBreaker>>,
    quota: Option<Shared<RetryQuota>>,
}

impl Retrier {
    /// Retries every failure by `policy`, which is taken as it is: check one
    /// that is built at run time by [`Policy::validate`].
    pub const fn new(policy: Policy) -> Self {
        Self {
            policy,
            matchers: Everything,
            name: Name::from_static("retrier"),
            breaker: None,
            quota: None,
        }
    }

    /// Retries only failures that one of these matchers matches.
    pub fn retry_on(self, matchers: impl IntoIterator<Item = Matcher>) -> Retrier<Listed> {
        let retry_on = Some(matchers.into_iter().collect());
        self.with(|Everything| Listed { retry_on, abort_on: Vec::new() })
    }

    /// Retries all failures but those that one of these matchers matches.
    pub fn abort_on(self, matchers: impl IntoIterator<Item = Matcher>) -> Retrier<Listed> {
        let abort_on = matchers.into_iter().collect();
        self.with(|Everything| Listed { retry_on: None, abort_on })
    }

    /// Retries only failures for which `predicate` holds. An attempt that the
    /// policy's own `timeout` cuts off has no error to ask, and is not retried.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new()).when(|code: &u16| *code >= 500);
    /// assert_eq!(retrier.run_sync(|| Err::<(), _>(404)).unwrap_err().attempts(), 1);
    /// ```
    pub fn when<E, F: Fn(&E) -> bool>(self, predicate: F) -> Retrier<When<F>> {
        self.with(|Everything| When(predicate))
    }
}

#[cfg(feature = "serde")]
impl Retrier {
    /// By a list that a file may have or not.
    pub(crate) fn listed(self, retry_on: Option<Vec<Matcher>>) -> Retrier<Listed> {
        self.with(|Everything| Listed { retry_on, abort_on: Vec::new() })
    }
}

impl Retrier<Listed> {
    /// Failures that one of these matchers matches are not retried, whatever
    /// `retry_on` says.
    pub fn abort_on(self, matchers: impl IntoIterator<Item = Matcher>) -> Self {
        let abort_on = matchers.into_iter().collect();
        self.with(|listed| Listed { abort_on, ..listed })
    }

    /// Asks the error itself what it is, by its [`Classify`](crate::Classify), where a matcher
    /// is about a class. (The attribute finds that out without being told.)
    ///
    /// ```
    /// use retry_runtime::matchers::server_error;
    /// use retry_runtime::{Class, Classify, Policy, Retrier, classify};
    ///
    /// #[derive(Debug)]
    /// struct Http(u16);
    ///
    /// impl std::fmt::Display for Http {
    ///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    ///         write!(f, "HTTP {}", self.0)
    ///     }
    /// }
    ///
    /// impl Classify for Http {
    ///     fn class(&self) -> Class {
    ///         classify::status(self.0)
    ///     }
    /// }
    ///
    /// let retrier = Retrier::new(Policy::new()).retry_on([server_error]).classified();
    /// assert_eq!(retrier.run_sync(|| Err::<(), _>(Http(404))).unwrap_err().attempts(), 1);
    /// ```
    pub fn classified(self) -> Retrier<Classified> {
        self.with(Classified)
    }
}

impl<M> Retrier<M> {
    pub(crate) fn with<N>(self, matchers: impl FnOnce(M) -> N) -> Retrier<N> {
        let Self { policy, matchers: old, name, breaker, quota } = self;
        Retrier { policy, matchers: matchers(old), name, breaker, quota }
    }

    /// The name in events. Default: `retrier`.
    pub fn name(mut self, name: impl Into<Name>) -> Self {
        self.name = name.into();
        self
    }

    /// Asks this breaker for a permit before each attempt.
    pub fn breaker(mut self, breaker: impl Into<Shared<CircuitBreaker>>) -> Self {
        self.breaker = Some(breaker.into());
        self
    }

    /// Pays for retries from this quota.
    pub fn quota(mut self, quota: impl Into<Shared<RetryQuota>>) -> Self {
        self.quota = Some(quota.into());
        self
    }

    /// Asks this closure for the wait that the server asked for. It is not cut to
    /// `max_delay`, and only ever jittered upwards.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # use std::time::Duration;
    /// struct Busy(Duration);
    /// # impl std::fmt::Display for Busy {
    /// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("busy") }
    /// # }
    ///
    /// let retrier = Retrier::new(Policy::new()).retry_after(|busy: &Busy| Some(busy.0));
    /// let error = retrier.run_sync(|| Err::<(), _>(Busy(Duration::ZERO))).unwrap_err();
    /// assert_eq!(error.waited(), Duration::ZERO);
    /// ```
    pub fn retry_after<E, F: Fn(&E) -> Option<Duration>>(
        self,
        hint: F,
    ) -> Retrier<RetryAfter<M, F>> {
        self.with(|matchers| RetryAfter { matchers, hint })
    }

    /// Calls this closure with each failure that will be retried, before the wait.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier, RetryEvent};
    /// let retrier = Retrier::new(Policy::new())
    ///     .on_retry(|event: &RetryEvent<'_, std::io::Error>| eprintln!("{event}"));
    /// ```
    pub fn on_retry<E, F: Fn(&RetryEvent<'_, E>)>(self, listener: F) -> Retrier<OnRetry<M, F>> {
        self.with(|matchers| OnRetry { matchers, listener })
    }

    /// The same for a call that cannot be repeated.
    #[cfg(feature = "tower")]
    pub(crate) fn once(mut self) -> Self {
        self.policy = self.policy.attempts(1);
        self
    }

    pub(crate) fn matchers(&self) -> &M {
        &self.matchers
    }

    pub(crate) const fn origin(&self) -> Origin<'_> {
        Origin::retrier(&self.name)
    }

    pub(crate) fn plan(&self) -> Plan<'_> {
        Plan {
            breaker: self.breaker.as_ref().map(lend::breaker),
            quota: self.quota.as_ref().map(lend::quota),
            ..Plan::by(self.origin(), &self.policy)
        }
    }

    /// Obeys this policy, which is taken as it is, as in [`new`](Retrier::new).
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// The policy that is obeyed.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Calls `operation` until it succeeds or the policy ends the call.
    ///
    /// The future is `Send` if what `operation` returns is, its value and its error:
    /// the last failure may be kept over a wait.
    ///
    /// # Errors
    /// The call was given up: why, after how many attempts, and the last error.
    #[expect(clippy::manual_async_fn, reason = "an `async fn` keeps its arguments twice")]
    pub fn run<T, E, Kind, Op, Fut>(
        &self,
        mut operation: Op,
    ) -> impl Future<Output = Result<T, RetryError<E>>>
    where
        M: Decider<E, Kind>,
        E: Display,
        Op: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        async move {
            // On the heap, and only where there is a bound: a timer is larger than all the rest.
            let mut cut = self.policy.is_timed().then(|| Box::new(Timed::start(&self.plan())));
            let timing =
                |cut: &Option<Box<Timed>>| cut.as_ref().map_or(Timing::NONE, |cut| cut.timing());
            let mut call = Call::<T, E>::new();
            loop {
                // A scope of its own: nothing of the attempt lives on through the wait.
                {
                    let permit = self.admit(&mut call, timing(&cut))?;
                    let outcome = match &mut cut {
                        Some(cut) => Box::pin(cut.attempt(TrackedAttempt::new(operation()))).await,
                        None => tracked(operation().await),
                    };
                    match outcome {
                        Ok(value) => {
                            self.succeeded(call, permit);
                            return Ok(value);
                        }
                        Err(error) => {
                            if let Some(end) = self.failed(&mut call, timing(&cut), permit, error) {
                                return Err(end);
                            }
                        }
                    }
                }
                match &self.quota {
                    Some(quota) => call.wait_on_credit(lend::quota(quota)).await,
                    None => call.wait().await,
                }
            }
        }
    }

    /// The same for a closure that is not async; the thread sleeps. The
    /// policy's `timeout` cannot cut it off and is not obeyed.
    ///
    /// # Errors
    /// The call was given up: why, after how many attempts, and the last error.
    pub fn run_sync<T, E, Kind>(
        &self,
        mut operation: impl FnMut() -> Result<T, E>,
    ) -> Result<T, RetryError<E>>
    where
        M: Decider<E, Kind>,
        E: Display,
    {
        let timing = Timing::start(&self.plan());
        let mut call = Call::<T, E>::new();
        loop {
            let permit = self.admit(&mut call, timing)?;
            match tracked(operation()) {
                Ok(value) => {
                    self.succeeded(call, permit);
                    return Ok(value);
                }
                Err(error) => {
                    if let Some(end) = self.failed(&mut call, timing, permit, error) {
                        return Err(end);
                    }
                }
            }
            call.wait_here(self.origin());
        }
    }
}

impl<M: fmt::Debug> fmt::Debug for Retrier<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retrier")
            .field("name", &self.name)
            .field("policy", &self.policy)
            .field("matchers", &self.matchers)
            .field("breaker", &self.breaker.as_ref().map(|breaker| breaker.as_ref().name()))
            .field("quota", &self.quota.as_ref().map(|quota| quota.as_ref().name()))
            .finish()
    }
}

/// The session of a call: it keeps the last failure, for a breaker or a deadline
/// may end the call before another attempt fails.
type Call<T, E> = Session<LastFailure<Tracked<T, E>>>;

/// What the expansion of the attribute writes in place.
impl<M> Retrier<M> {
    /// The breaker's permit for an attempt, or the end of the call.
    #[inline]
    fn admit<T, E>(
        &self,
        call: &mut Call<T, E>,
        timing: Timing,
    ) -> Result<Option<Permit<'_>>, RetryError<E>> {
        let Some(breaker) = &self.breaker else { return Ok(None) };
        match lend::breaker(breaker).try_acquire() {
            Ok(permit) => Ok(Some(permit)),
            Err(rejected) => Err(self.rejected(call, timing, rejected.into())),
        }
    }

    #[cold]
    fn rejected<T, E>(
        &self,
        call: &mut Call<T, E>,
        timing: Timing,
        rejected: Interrupted,
    ) -> RetryError<E> {
        let ended = call.rejected(&self.plan().timing(timing), &rejected);
        let last = take(call).close().last_or_else(|| Result::interrupted(rejected));
        gave_up(last, ended)
    }

    #[inline]
    fn succeeded<T, E>(&self, call: Call<T, E>, permit: Option<Permit<'_>>) {
        if let Some(permit) = permit {
            permit.success();
        }
        match &self.quota {
            Some(quota) => call.succeeded_on_credit(self.origin(), lend::quota(quota)),
            None => call.succeeded(self.origin()),
        }
    }

    /// The end of the call, or `None` after a failure that is to be waited upon.
    #[cold]
    fn failed<T, E, Kind>(
        &self,
        call: &mut Call<T, E>,
        timing: Timing,
        permit: Option<Permit<'_>>,
        error: AttemptError<E>,
    ) -> Option<RetryError<E>>
    where
        M: Decider<E, Kind>,
        E: Display,
    {
        let matchers = &self.matchers;
        let (matched, shown): (_, &dyn Display) = match &error {
            AttemptError::Error(error) => (matchers.decide(error), error),
            AttemptError::Interrupted(interrupted) => {
                (matchers.decide_interrupted(interrupted), interrupted)
            }
        };
        let MatchOutcome { retry, hint, timeout } = matched;
        let verdict = Verdict { retry, hint, timeout, error: ErrorDisplay::Display(shown) };
        let plan = self.plan().timing(timing);
        match call.failed(&plan, permit, verdict) {
            Next::Wait => {
                let outcome = Err(error);
                let failure = tracked_failure(&outcome);
                matchers.on_retry(&call.event(&plan, failure));
                // Only these can end a call before it fails again. What no end needs is let go
                // of before the wait: a response may hold a connection.
                if plan.breaker.is_some() || timing.deadline().is_some() {
                    call.keep(outcome);
                }
                None
            }
            Next::GiveUp(ended) => {
                let kept = take(call).close();
                let outcome = Err(error);
                let last = if timing.is_cut() { kept.last_or_else(|| outcome) } else { outcome };
                Some(gave_up(last, ended))
            }
        }
    }
}
