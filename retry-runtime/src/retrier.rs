//! [`Retrier`]: the same sessions without a macro, for closures.
//!
//! A retrier is made once and shared: it is cheap to clone, and what it holds can be named,
//! so that it can be a field. Where one of its closures cannot be named, it is
//! [`boxed`](Retrier::boxed).
//!
//! ```
//! use retry_runtime::matchers::{network, server_error};
//! use retry_runtime::retrier::Boxed;
//! use retry_runtime::{Policy, RetryError, Retrier};
//! use std::io::Error;
//!
//! struct Client {
//!     reads: Retrier,
//!     writes: Retrier<Boxed<Error>>,
//! }
//!
//! impl Client {
//!     fn new(policy: Policy, marker: String) -> Self {
//!         Self {
//!             reads: Retrier::new(policy).retry_on([network, server_error]),
//!             writes: Retrier::new(policy)
//!                 .when(move |error: &Error| error.to_string().contains(&marker))
//!                 .boxed(),
//!         }
//!     }
//!
//!     async fn read(&self) -> Result<u32, RetryError<Error>> {
//!         self.reads.run(|| async { Ok(7) }).await
//!     }
//! }
//! ```
//!
//! # Which errors
//! A retrier reads errors from outside, as the attribute does: any `Error + 'static`,
//! `anyhow::Error`, boxed errors and texts. An error that implements
//! [`Classify`](crate::Classify) has the last word on itself, if the retrier is configured so:
//! [`Retrier::classified`]. An error that can neither be read nor asked is
//! [`opaque`](Retrier::opaque).

#[cfg(feature = "serde")]
pub(crate) mod config;
mod decider;
mod hooks;
mod values;
mod operation;
mod settings;
mod run;
pub mod durable;

use core::fmt;
use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use retry_rules::{Invalid, Policy};

use self::settings::Settings;
use crate::base::name::Name;
use crate::call::attempt::Attempt;
use crate::classify::matchers::Matcher;
use crate::event::retry_event::RetryEvent;
use crate::outcome::error::RetryError;
use crate::protect::breaker::CircuitBreaker;
use crate::protect::quota::RetryQuota;
use crate::protect::shared::Shared;

pub use self::decider::{
    Boxed, Classified, Decider, FailedAttempt, Known, Lists, MatchOutcome, MatcherStack, Matchers,
    Opaque, Readable, ReadsError, With,
};
pub use self::hooks::{CallOnRetry, CallWhen, Hook, OnRetry, RetryAfter, When};
pub use self::operation::{Operation, WithState};
pub use self::run::{Blocking, Run};
pub use self::values::{AllSucceed, FailedValue, PickedValue, RetryOnValue, Values};
pub use crate::classify::probe::Fault;

/// The kind of a [`Fault`], where it must be named: in the type of a service of
/// `RetryLayer`. A [boxed](Retrier::boxed) retrier has `()`.
pub mod kind {
    pub use crate::classify::probe::{DynError, LocalDynError, RetriedDynError, SourceChain, Text};
}

/// Retries a closure with a policy known at run time.
///
/// Same sessions, decisions and events as the attribute. It always reports how a call
/// ended: its error is a [`RetryError`].
///
/// `M` decides which failures to retry, `V` which values are failures; both have
/// defaults.
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
pub struct Retrier<M = Matchers, V = AllSucceed> {
    settings: Settings,
    matchers: M,
    values: V,
}

impl Retrier {
    /// Creates a retrier that retries every failure with `policy`.
    ///
    /// A policy that breaks a rule is replaced with [`Policy::nearest_valid`], and
    /// [`Event::InvalidPolicy`](crate::Event) says so at the first failure;
    /// [`validate`](Self::validate) says so beforehand.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// static RETRIER: Retrier = Retrier::new(Policy::new().attempts(4));
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(0));
    /// assert!(retrier.validate().unwrap_err().to_string().contains("at least 1"));
    /// assert_eq!(*retrier.policy(), Policy::new().attempts(1));
    /// ```
    pub const fn new(policy: Policy) -> Self {
        Self { settings: Settings::new(policy), matchers: Matchers::NONE, values: AllSucceed }
    }
}

impl<M: MatcherStack, V> Retrier<M, V> {
    /// Retries only failures that one of these matchers matches.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier, matchers::network};
    /// let retrier = Retrier::new(Policy::new()).retry_on([network]);
    /// assert_eq!(retrier.run_sync(|| Err::<(), _>("no such table")).unwrap_err().attempts(), 1);
    /// ```
    pub fn retry_on(mut self, matchers: impl IntoIterator<Item = Matcher>) -> Self {
        self.matchers.lists().retry_on = Some(matchers.into_iter().collect());
        self
    }

    /// Does not retry failures that one of these matchers matches, whatever `retry_on` says.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier, matchers::network};
    /// let retrier = Retrier::new(Policy::new()).abort_on([network]);
    /// assert_eq!(retrier.run_sync(|| Err::<(), _>("connection refused")).unwrap_err().attempts(), 1);
    /// ```
    pub fn abort_on(mut self, matchers: impl IntoIterator<Item = Matcher>) -> Self {
        self.matchers.lists().abort_on = Some(matchers.into_iter().collect());
        self
    }

    /// Asks the error itself what it is, and how long to wait, through its
    /// [`Classify`](crate::Classify). (The attribute does so automatically.)
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
    pub fn classified(self) -> Retrier<M::ReadBy<Classified>, V> {
        self.with(|matchers| matchers.read_by(Classified))
    }

    /// Asks the error nothing: it has no class and no wait. For errors known only by
    /// their `Display`; patterns match that.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new().attempts(1)).opaque();
    /// assert_eq!(retrier.run_sync(|| Err::<(), u16>(503)).unwrap_err().last(), Some(&503));
    /// ```
    pub fn opaque(self) -> Retrier<M::ReadBy<Opaque>, V> {
        self.with(|matchers| matchers.read_by(Opaque))
    }
}

impl<M, V> Retrier<M, V> {
    pub(crate) fn with<N>(self, matchers: impl FnOnce(M) -> N) -> Retrier<N, V> {
        let Self { settings, matchers: old, values } = self;
        Retrier { settings, matchers: matchers(old), values }
    }

    pub(crate) fn with_values<W>(self, values: W) -> Retrier<M, W> {
        let Self { settings, matchers, .. } = self;
        Retrier { settings, matchers, values }
    }

    /// Retries failures for which `predicate` holds: in addition to those that `retry_on`
    /// names, or, without it, only these. An attempt that the policy's own `timeout` cuts
    /// off has no error to ask: use `retry_on([timeout])`.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new()).opaque().when(|code: &u16| *code >= 500);
    /// assert_eq!(retrier.run_sync(|| Err::<(), _>(404)).unwrap_err().attempts(), 1);
    /// ```
    pub fn when<E, F: Fn(&E) -> bool>(self, predicate: F) -> Retrier<With<M, When<F>>, V> {
        self.with(|matchers| With { matchers, hook: When(Arc::new(predicate)) })
    }

    /// Asks this closure for the wait that the server asked for. It is not capped at
    /// `max_delay`, and only jittered upwards.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # use std::time::Duration;
    /// struct Busy(Duration);
    /// # impl std::fmt::Display for Busy {
    /// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("busy") }
    /// # }
    ///
    /// let retrier = Retrier::new(Policy::new()).opaque().retry_after(|busy: &Busy| Some(busy.0));
    /// let error = retrier.run_sync(|| Err::<(), _>(Busy(Duration::ZERO))).unwrap_err();
    /// assert_eq!(error.waited(), Duration::ZERO);
    /// ```
    pub fn retry_after<E, F: Fn(&E) -> Option<Duration>>(
        self,
        hint: F,
    ) -> Retrier<With<M, RetryAfter<F>>, V> {
        self.with(|matchers| With { matchers, hook: RetryAfter(Arc::new(hint)) })
    }

    /// Calls this closure with each failure that will be retried, before the wait.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier, RetryEvent};
    /// let retrier = Retrier::new(Policy::new())
    ///     .on_retry(|event: &RetryEvent<'_, std::io::Error>| eprintln!("{event}"));
    /// ```
    pub fn on_retry<E, F: Fn(&RetryEvent<'_, E>)>(
        self,
        listener: F,
    ) -> Retrier<With<M, OnRetry<F>>, V> {
        self.with(|matchers| With { matchers, hook: OnRetry(Arc::new(listener)) })
    }

    /// Retries values for which `predicate` holds, although there is no error: `ok(…)` of
    /// the attribute. At the end the last one is returned, as `Ok`.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let retrier = Retrier::new(Policy::new()).retry_on_value(|done: &bool| !done);
    /// let mut calls = 0;
    /// let done = retrier
    ///     .run(|| {
    ///         calls += 1;
    ///         async { Ok::<_, std::io::Error>(false) }
    ///     })
    ///     .await;
    /// assert_eq!((done.unwrap(), calls), (false, 3));
    /// # }
    /// ```
    pub fn retry_on_value<T, F: Fn(&T) -> bool>(self, predicate: F) -> Retrier<M, RetryOnValue<F>> {
        self.with_values(RetryOnValue(Arc::new(predicate)))
    }

    /// Erases the type of what decides about errors of type `E`, so that the retrier can
    /// be a field even if its closures cannot be named.
    ///
    /// ```
    /// use retry_runtime::retrier::Boxed;
    /// use retry_runtime::{Policy, Retrier};
    ///
    /// struct Codes {
    ///     retrier: Retrier<Boxed<u16>>,
    /// }
    ///
    /// let worst = 500;
    /// let retrier = Retrier::new(Policy::new()).opaque().when(move |code: &u16| *code >= worst);
    /// let codes = Codes { retrier: retrier.boxed() };
    /// assert_eq!(codes.retrier.run_sync(|| Err::<(), _>(404)).unwrap_err().attempts(), 1);
    /// ```
    pub fn boxed<E, Kind: 'static>(self) -> Retrier<Boxed<E>, V>
    where
        M: Decider<E, Kind> + Send + Sync + 'static,
    {
        self.with(Boxed::new)
    }

    /// Sets the name in events. Default: `retrier`.
    pub fn name(mut self, name: impl Into<Name>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// Asks this breaker for a permit before each attempt.
    pub fn breaker(mut self, breaker: impl Into<Shared<CircuitBreaker>>) -> Self {
        self.settings.breaker = Some(breaker.into());
        self
    }

    /// Pays for retries from this quota.
    pub fn quota(mut self, quota: impl Into<Shared<RetryQuota>>) -> Self {
        self.settings.quota = Some(quota.into());
        self
    }

    /// Sets the policy, as [`new`](Retrier::new) does.
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.settings = self.settings.with_policy(policy);
        self
    }

    /// Returns the policy that is obeyed.
    pub fn policy(&self) -> &Policy {
        &self.settings.policy
    }

    /// Checks that the given policy is the one in force.
    ///
    /// # Errors
    /// The rules that it breaks.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.settings.invalid.map_or(Ok(()), Err)
    }

    /// The same for a call that cannot be repeated.
    #[cfg(feature = "tower")]
    pub(crate) fn once(mut self) -> Self {
        self.settings.policy = self.settings.policy.attempts(1);
        self
    }

    /// Calls `operation` until it succeeds or the policy ends the call: await the result,
    /// after adding what is for this call alone.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let retrier = Retrier::new(Policy::new());
    /// let seven = retrier.run(|| async { "7".parse::<u32>() }).await;
    /// assert_eq!(seven.unwrap(), 7);
    ///
    /// let error = retrier.run(|| async { "seven".parse::<u32>() }).when(|_| false).await;
    /// assert_eq!(error.unwrap_err().attempts(), 1);
    /// # }
    /// ```
    ///
    /// # Errors
    /// The call was given up: why, after how many attempts, and the last error.
    pub fn run<T, E, Kind, Op, Fut>(
        &self,
        operation: Op,
    ) -> Run<'_, Op, Fut, T, E, Known<'_, M, E>, V>
    where
        M: Decider<E, Kind>,
        V: Values<T>,
        Op: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        Run::new(&self.settings, Known::new(&self.matchers), &self.values, operation)
    }

    /// Does the same for a closure that takes state by value, and returns it with the result:
    /// a connection, a cursor, a buffer. It also sees which attempt it makes, and may itself
    /// decide what happens to its failure: [`Attempt::give_up`], [`Attempt::retry_after`].
    ///
    /// The state comes back at the end, unless a `timeout` or a `deadline` cut an attempt
    /// off: then it is lost, and the call ends.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let retrier = Retrier::new(Policy::new());
    /// let (log, result) = retrier
    ///     .run_with(Vec::new(), |mut log, cx| async move {
    ///         log.push(cx.number());
    ///         (log, if cx.is_last() { Ok(7) } else { Err("not yet") })
    ///     })
    ///     .await;
    /// assert_eq!((log, result), (Some(vec![1, 2, 3]), Ok(7)));
    /// # }
    /// ```
    ///
    /// # Errors
    /// The call was given up: why, after how many attempts, and the last error.
    pub fn run_with<S, T, E, Kind, Op, Fut>(
        &self,
        state: S,
        operation: Op,
    ) -> Run<'_, WithState<S, Op>, Fut, T, E, Known<'_, M, E>, V>
    where
        M: Decider<E, Kind>,
        V: Values<T>,
        Op: FnMut(S, Arc<Attempt>) -> Fut,
        Fut: Future<Output = (S, Result<T, E>)>,
    {
        let operation = WithState::new(state, operation);
        Run::new(&self.settings, Known::new(&self.matchers), &self.values, operation)
    }

    /// Does the same as [`run`](Self::run) for a closure that is not async: [`Run::call`]
    /// calls it, after you add what is for this call alone.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new());
    /// let error = retrier.blocking(|| "seven".parse::<u32>()).when(|_| false).call();
    /// assert_eq!(error.unwrap_err().attempts(), 1);
    /// ```
    pub fn blocking<T, E, Kind, Op>(
        &self,
        operation: Op,
    ) -> Run<'_, Op, Blocking, T, E, Known<'_, M, E>, V>
    where
        M: Decider<E, Kind>,
        V: Values<T>,
        Op: FnMut() -> Result<T, E>,
    {
        Run::new(&self.settings, Known::new(&self.matchers), &self.values, operation)
    }

    /// Calls [`blocking`](Self::blocking) at once. The thread sleeps; the policy's
    /// `timeout` cannot cut an attempt off, and is ignored.
    ///
    /// # Errors
    /// The call was given up: why, after how many attempts, and the last error.
    pub fn run_sync<T, E, Kind>(
        &self,
        operation: impl FnMut() -> Result<T, E>,
    ) -> Result<T, RetryError<E>>
    where
        M: Decider<E, Kind>,
        V: Values<T>,
    {
        self.blocking(operation).call()
    }
}

impl<M: fmt::Debug, V: fmt::Debug> fmt::Debug for Retrier<M, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { policy, name, breaker, quota, .. } = &self.settings;
        f.debug_struct("Retrier")
            .field("name", name)
            .field("policy", policy)
            .field("matchers", &self.matchers)
            .field("values", &self.values)
            .field("breaker", &breaker.as_ref().map(|breaker| breaker.as_ref().name()))
            .field("quota", &quota.as_ref().map(|quota| quota.as_ref().name()))
            .finish()
    }
}
