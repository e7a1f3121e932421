//! Building a retrier: from a policy, and the options added to it.

use core::ops::ControlFlow;
use core::time::Duration;
use std::sync::Arc;

use retry_rules::{Invalid, Policy};

use super::Retrier;
#[cfg(feature = "serde")]
use super::config::RetryConfig;
use super::decider::{
    Classified, Closures, Decider, ForError, Opaque, Readable, ReadsClass, ReadsError,
};
use super::settings::{Common, RetrierSettings};
use super::values::{AllSucceed, RetryOnValue};
use crate::base::name::Name;
use crate::base::sealed::Seal;
use crate::classify::Class;
use crate::classify::matchers::Matchers;
use crate::event::log_level::LogLevel;
use crate::event::retry_event::RetryEvent;
use crate::outcome::Nothing;
use crate::protect::breaker::CircuitBreaker;
use crate::protect::quota::RetryQuota;
use crate::protect::shared::IntoShared;
use crate::site::end_options::EndLevel;

impl Retrier {
    /// Creates a retrier that retries every failure with `policy`.
    ///
    /// A policy that breaks a rule is replaced with [`Policy::nearest_valid`], and
    /// [`Warning::InvalidPolicy`](crate::Warning) reports that at the first failure;
    /// [`validate`](Self::validate) reports it beforehand.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// static RETRIER: Retrier = Retrier::new(Policy::new().attempts(4));
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(0));
    /// assert!(retrier.validate().unwrap_err().to_string().contains("at least 1"));
    /// assert_eq!(*retrier.policy(), Policy::new().attempts(1));
    /// ```
    pub const fn new(policy: Policy /* such as `Policy::new().attempts(5)` */) -> Self {
        Self {
            common: Common { settings: RetrierSettings::new(policy), values: AllSucceed },
            decider: Readable,
        }
    }

    /// Creates a retrier with the settings from a file.
    ///
    /// ```
    /// use retry_runtime::{Retrier, RetryConfig};
    ///
    /// let config: RetryConfig = serde_json::from_str(r#"{ "retry_on": ["network"] }"#).unwrap();
    /// let retrier = Retrier::from_config(&config);
    /// assert_eq!(retrier.run_sync(|| Err::<(), _>("no such table")).unwrap_err().attempts(), 1);
    /// ```
    #[cfg(feature = "serde")]
    pub fn from_config(config: &RetryConfig) -> Self {
        Self::new(Policy::new()).with_config(config)
    }
}

/// A retrier that retries every failure with the policy.
impl From<Policy> for Retrier {
    fn from(policy: Policy) -> Self {
        Self::new(policy)
    }
}

impl<V> Retrier<Readable, V> {
    /// Uses the class and the wait that the error itself states, through its
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
    pub fn classified(self) -> Retrier<Classified, V> {
        self.with(|_| Classified)
    }

    /// Reads nothing from the error: it has no class and no hint. For errors known only by their
    /// `Display`; patterns match that. Such a failure makes no breaker
    /// [hold](crate::BreakerConfig::hold) calls, whatever its wait.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new().attempts(1)).opaque();
    /// assert_eq!(retrier.run_sync(|| Err::<(), u16>(503)).unwrap_err().last(), Some(&503));
    /// ```
    pub fn opaque(self) -> Retrier<Opaque, V> {
        self.with(|_| Opaque)
    }
}

impl<D: ReadsError, V> Retrier<D, V> {
    /// Retries only failures that one of these matchers matches.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier, matchers::network};
    /// let retrier = Retrier::new(Policy::new()).retry_on([network]);
    /// assert_eq!(retrier.run_sync(|| Err::<(), _>("no such table")).unwrap_err().attempts(), 1);
    /// ```
    pub fn retry_on(mut self, matchers: impl Matchers) -> Self {
        self.common.settings.lists.retry_on = Some(matchers.into_list(Seal));
        self.reading()
    }

    /// Does not retry failures that one of these matchers matches, whatever `retry_on` says.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier, matchers::network};
    /// let retrier = Retrier::new(Policy::new()).abort_on([network]);
    /// assert_eq!(retrier.run_sync(|| Err::<(), _>("connection refused")).unwrap_err().attempts(), 1);
    /// ```
    pub fn abort_on(mut self, matchers: impl Matchers) -> Self {
        self.common.settings.lists.abort_on = Some(matchers.into_list(Seal));
        self.reading()
    }

    /// Sets the kinds of failure that use up no attempt, such as rate limits, after which a later
    /// attempt is expected to succeed. The attribute has it as `uncounted = [rate_limit]`. Default:
    /// every failure uses up one.
    ///
    /// Which failures are retried, and how long the call waits, stays the same:
    /// [`RetryError::attempts`](crate::RetryError::attempts) and events count every attempt. So the
    /// policy needs a `deadline`, a `max_elapsed` or a `budget` with waits above 0 s, or
    /// `budget = unlimited`. Without one of them, these failures use up attempts as others do, and
    /// [`validate`](Self::validate) reports it. An error that shows no class is counted. That is each
    /// error of an [`opaque`](Self::opaque) retrier without [`classify`](Self::classify):
    /// [`Warning::UncountedNotObeyed`](crate::Warning) reports it at the first failure.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use retry_runtime::{Class, Policy, Retrier};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let policy = Policy::new().attempts(3).deadline(Duration::from_secs(3_600));
    /// let retrier = Retrier::new(policy).uncounted(Class::RATE_LIMIT);
    ///
    /// let mut calls = 0;
    /// let answer = retrier.run(|| {
    ///     calls += 1;
    ///     let answer = if calls < 6 { Err("429 Too Many Requests") } else { Ok(calls) };
    ///     async move { answer }
    /// });
    /// assert_eq!(answer.await.unwrap(), 6);
    /// # }
    /// ```
    pub fn uncounted(mut self, classes: Class /* such as `Class::RATE_LIMIT` */) -> Self
    where
        D: ReadsClass,
    {
        self.common.settings.lists.uncounted = classes;
        self.reading()
    }

    /// Sets the class of errors of another crate; where this closure returns [`None`], the retrier
    /// reads the error as it does without. `classify = f` in the attribute.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use retry_runtime::{Class, Policy, Retrier, matchers::server_error};
    /// let retrier = Retrier::new(Policy::new().initial_delay(Duration::from_millis(10)))
    ///     .retry_on([server_error])
    ///     .classify(|error: &String| error.contains("Wartung").then_some(Class::SERVER_ERROR));
    /// let failed = retrier.run_sync(|| Err::<(), _>("in Wartung".to_owned())).unwrap_err();
    /// assert_eq!(failed.attempts(), 3);
    /// ```
    pub fn classify<E, Kind, F>(self, class_of: F) -> Retrier<ForError<E>, V>
    where
        D: Decider<E, Kind>,
        F: Fn(&E) -> Option<Class> + Send + Sync + 'static,
    {
        self.with_closures(|closures| closures.classify.push(Arc::new(class_of)))
    }

    /// Retries failures for which `predicate` holds: in addition to those that `retry_on` matches,
    /// or, without `retry_on`, only these. An attempt that the policy's own `timeout` cuts off has
    /// no error to test: use `retry_on([timeout])`.
    ///
    /// A predicate that borrows, or is not `Send + Sync`, belongs to a call:
    /// [`Run::when`](super::Run::when).
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new()).opaque().when(|code: &u16| *code >= 500);
    /// assert_eq!(retrier.run_sync(|| Err::<(), _>(404)).unwrap_err().attempts(), 1);
    /// ```
    pub fn when<E, Kind, F>(self, predicate: F) -> Retrier<ForError<E>, V>
    where
        D: Decider<E, Kind>,
        F: Fn(&E) -> bool + Send + Sync + 'static,
    {
        self.with_closures(|closures| closures.when.push(Arc::new(predicate)))
    }

    /// Uses this closure to obtain the wait that the server asked for. The wait is not capped at
    /// `max_delay`, and only jittered upwards. A wait longer than `max_retry_after` ends the call.
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
    pub fn retry_after<E, Kind, F>(self, hint: F) -> Retrier<ForError<E>, V>
    where
        D: Decider<E, Kind>,
        F: Fn(&E) -> Option<Duration> + Send + Sync + 'static,
    {
        self.with_closures(|closures| closures.retry_after.push(Arc::new(hint)))
    }

    /// Uses this closure to set the wait that follows a failure: a curve of the program's own, or the
    /// end of the call. `wait_by = f` in the attribute.
    ///
    /// It gets the number of the failed attempt, the error, and the wait that is due: by the curve
    /// with its jitter, or as the server asked. `Continue(wait)` is slept as it is, without
    /// `max_delay`, `max_retry_after` and jitter; the limits on attempts and time apply. `Break(())`
    /// ends the call, as a failure that is not retryable. If nothing but a `budget` bounds the call
    /// ([`Policy::unlimited`] without `deadline` and `max_elapsed`), the wait that is due replaces a
    /// wait of 0 s. Of several closures, each gets the wait of the one before it.
    ///
    /// It is not called for an attempt that the policy's own `timeout` cuts off, nor if the attempt
    /// itself ruled on its failure.
    ///
    /// A closure that borrows, or is not `Send + Sync`, belongs to a call:
    /// [`Run::wait_by`](super::Run::wait_by).
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # use std::time::Duration;
    /// use std::ops::ControlFlow::{Break, Continue};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let retrier = Retrier::new(Policy::new().attempts(5)).opaque().wait_by(
    ///     |attempt, status: &u16, wait| match (status, attempt) {
    ///         (429, _) => Continue(2 * wait),
    ///         (_, 3) => Break(()),
    ///         _ => Continue(Duration::from_secs(10)),
    ///     },
    /// );
    /// let error = retrier.run(|| async { Err::<(), _>(500) }).await.unwrap_err();
    /// assert_eq!((error.attempts(), error.waited()), (3, Duration::from_secs(20)));
    /// # }
    /// ```
    pub fn wait_by<E, Kind, F>(self, wait_by: F) -> Retrier<ForError<E>, V>
    where
        D: Decider<E, Kind>,
        F: Fn(u32, &E, Duration) -> ControlFlow<(), Duration> + Send + Sync + 'static,
    {
        self.with_closures(|closures| closures.wait_by.push(Arc::new(wait_by)))
    }

    /// Calls this closure with each failure that will be retried, before the wait.
    ///
    /// A listener that borrows, or is not `Send + Sync`, belongs to a call:
    /// [`Run::on_retry`](super::Run::on_retry).
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier, RetryEvent};
    /// let retrier = Retrier::new(Policy::new())
    ///     .on_retry(|event: &RetryEvent<'_, std::io::Error>| eprintln!("{event}"));
    /// ```
    pub fn on_retry<E, Kind, F, R>(self, listener: F) -> Retrier<ForError<E>, V>
    where
        D: Decider<E, Kind>,
        F: Fn(&RetryEvent<'_, E>) -> R + Send + Sync + 'static,
        R: Nothing,
    {
        let listener = move |event: &RetryEvent<'_, E>| {
            listener(event);
        };
        self.with_closures(|closures| closures.on_retry.push(Arc::new(listener)))
    }

    /// Retries values for which `predicate` returns true, although they are not errors: `ok(…)` in
    /// the attribute. At the end, the last value is returned as `Ok`.
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
    pub fn retry_on_value<T, F: Fn(&T) -> bool>(self, predicate: F) -> Retrier<D, RetryOnValue<F>> {
        self.with_values(RetryOnValue(Arc::new(predicate)))
    }

    /// Sets the name in events. Default: `retrier`.
    ///
    /// ```
    /// # use retry_runtime::{Policy, RetryEvent, Retrier};
    /// # use std::time::Duration;
    /// let retrier = Retrier::new(Policy::new().initial_delay(Duration::from_millis(1)))
    ///     .name("orders.export")
    ///     .on_retry(|event: &RetryEvent<'_, &str>| assert_eq!(event.name(), "orders.export"));
    /// let _ = retrier.run_sync(|| Err::<(), _>("busy"));
    /// ```
    pub fn name(mut self, name: impl Into<Name>) -> Self {
        self.common.settings.name = name.into();
        self
    }

    /// Sets a breaker, a `&'static` or an `Arc`, which must admit each attempt. Default: no
    /// breaker.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use retry_runtime::{BreakerConfig, CircuitBreaker, Policy, Reason, Retrier};
    ///
    /// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    ///
    /// let retrier = Retrier::new(Policy::new()).breaker(&DB);
    /// DB.force_open();
    /// let error = retrier.run_sync(|| Err::<(), _>("not called")).unwrap_err();
    /// assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 0));
    ///
    /// // Or one that is made at runtime:
    /// let breaker = Arc::new(CircuitBreaker::named("tenant 7", BreakerConfig::new()));
    /// let retrier = Retrier::new(Policy::new()).breaker(breaker);
    /// ```
    pub fn breaker(
        mut self,
        breaker: impl IntoShared<CircuitBreaker>, /* `&DB` of a `static`, not a `const`, or an `Arc` */
    ) -> Self {
        self.common.settings.breaker = Some(breaker.into_shared());
        self.common.settings.is_plain = false;
        self.reading()
    }

    /// Waits until the breaker admits the call, within attempts, budget and deadline, instead of
    /// giving up at once: `when_open = wait` in the attribute. Without a breaker, it has no effect.
    ///
    /// A call that has failed waits for the end of a [hold](crate::BreakerConfig::hold) even
    /// without it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use retry_runtime::{BreakerConfig, CircuitBreaker, Policy, Retrier};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let config = BreakerConfig::new().failure_threshold(1).timeout(Duration::from_secs(10));
    /// let breaker = Arc::new(CircuitBreaker::new("db", config));
    /// breaker.try_acquire().unwrap().failure();
    ///
    /// let retrier = Retrier::new(Policy::new()).breaker(Arc::clone(&breaker)).wait_when_open();
    /// let start = tokio::time::Instant::now();
    /// retrier.run(|| async { "7".parse::<u32>() }).await.unwrap();
    /// assert_eq!(start.elapsed(), Duration::from_secs(10));
    /// # }
    /// ```
    pub fn wait_when_open(mut self) -> Self {
        self.common.settings.waits_for_breaker = true;
        self
    }

    /// Sets the quota, a `&'static` or an `Arc`, that pays for retries. Default: no quota.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_runtime::{Policy, QuotaConfig, Reason, Retrier, RetryQuota};
    ///
    /// static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new().capacity(10));
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(9).initial_delay(Duration::from_millis(10))).quota(&OUTBOUND);
    /// let error = retrier.run_sync(|| Err::<(), _>("busy")).unwrap_err();
    /// assert_eq!((error.reason(), error.attempts()), (Reason::Quota, 3), "a retry costs 5 tokens");
    /// ```
    pub fn quota(
        mut self,
        quota: impl IntoShared<RetryQuota>, /* `&OUTBOUND` of a `static`, not a `const`, or an `Arc` */
    ) -> Self {
        self.common.settings.quota = Some(quota.into_shared());
        self.common.settings.is_plain = false;
        self.reading()
    }

    /// Keeps the last `failures` of a call for [`RetryError::history`], at most 100: `history = n`
    /// in the attribute. Default: 0, which keeps none.
    ///
    /// The text of each failure is made when it happens, so a call that succeeds at its first
    /// attempt costs nothing.
    ///
    /// [`RetryError::history`]: crate::RetryError::history
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use retry_runtime::{Policy, Retrier};
    /// let policy = Policy::new().attempts(3).initial_delay(Duration::from_millis(1));
    /// let retrier = Retrier::new(policy).history(2);
    /// let mut calls = 0;
    /// let failed = retrier.run_sync(|| {
    ///     calls += 1;
    ///     Err::<(), _>(format!("call {calls} failed"))
    /// });
    /// let error = failed.unwrap_err();
    /// let texts: Vec<&str> = error.history().iter().map(|failure| failure.text()).collect();
    /// assert_eq!(texts, ["call 2 failed", "call 3 failed"]);
    /// ```
    pub const fn history(mut self, failures: u32) -> Self {
        self.common.settings.end = self.common.settings.end.with_history(failures);
        if failures > 0 { self.reading() } else { self }
    }

    retry_rules::accessors! {
        /// Sets the level of the event `gave up` of `tracing`, whatever the reason: `log = info` in the
        /// attribute. Default: `WARN`; `INFO` if the outcome is a value; `DEBUG` if the failure is not
        /// retryable, or `nested = once` asked for a single attempt.
        ///
        /// Counters, metrics and listeners are not affected. Without the feature `tracing`, it has no
        /// effect.
        ///
        /// ```
        /// # use retry_runtime::{LogLevel, Policy, Retrier};
        /// let retrier = Retrier::new(Policy::new().attempts(1)).log(LogLevel::Off);
        /// assert!(retrier.run_sync(|| Err::<(), _>("busy")).is_err());
        /// ```
        pub const fn log(self, level: LogLevel) -> Self { common.settings.end.log: EndLevel::Set(level) }

        /// Sets the level of the event of each retry of `tracing`: `log_retries = warn` in the attribute.
        /// Default: `DEBUG`. A library whose users cannot see its functions may raise it; one that logs
        /// retries itself, in [`on_retry`](Self::on_retry), turns it [off](LogLevel::Off).
        ///
        /// Counters, metrics and listeners are not affected. Without the feature `tracing`, it has no
        /// effect.
        ///
        /// ```
        /// # use retry_runtime::{LogLevel, Policy, Retrier};
        /// let retrier = Retrier::new(Policy::new().attempts(2)).log_retries(LogLevel::Off);
        /// ```
        pub const fn log_retries(self, level: LogLevel) -> Self { common.settings.end.log_retries: level }
    }

    /// Decides about errors of type `E` only. A retrier with closures does so anyway: this gives
    /// one without them the same type, for a field, or for the service of a `RetryLayer`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_runtime::retrier::ForError;
    /// use retry_runtime::{Policy, Retrier};
    ///
    /// fn retrier(worst: Option<u16>) -> Retrier<ForError<u16>> {
    ///     let retrier = Retrier::new(Policy::new().initial_delay(Duration::from_millis(10))).opaque();
    ///     match worst {
    ///         Some(worst) => retrier.when(move |code| *code >= worst),
    ///         None => retrier.for_error(),
    ///     }
    /// }
    ///
    /// let attempts = |retrier: Retrier<ForError<u16>>| {
    ///     retrier.run_sync(|| Err::<(), _>(404)).unwrap_err().attempts()
    /// };
    /// assert_eq!((attempts(retrier(Some(500))), attempts(retrier(None))), (1, 3));
    /// ```
    pub fn for_error<E, Kind>(self) -> Retrier<ForError<E>, V>
    where
        D: Decider<E, Kind>,
    {
        self.with(|decider| ForError(decider.rules().clone()))
    }

    fn with_closures<E, Kind>(self, add: impl FnOnce(&mut Closures<E>)) -> Retrier<ForError<E>, V>
    where
        D: Decider<E, Kind>,
    {
        let mut retrier = self.for_error();
        add(retrier.decider.0.closures());
        retrier
    }

    /// Sets the policy, as [`new`](Retrier::new) does.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier, matchers::network};
    /// let reads = Retrier::new(Policy::new()).retry_on([network]);
    /// let patient = reads.clone().with_policy(Policy::new().attempts(10));
    /// assert_eq!(*patient.policy(), Policy::new().attempts(10));
    /// ```
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.common.settings = self.common.settings.with_policy(policy);
        self
    }

    /// Sets the policy, and each list that is in the file. A list that is not stays as it is.
    ///
    /// ```
    /// use retry_runtime::{Policy, Retrier, RetryConfig, matchers::network};
    ///
    /// let reads = Retrier::new(Policy::new()).retry_on([network]);
    /// let config: RetryConfig = serde_json::from_str(r#"{ "attempts": 10 }"#).unwrap();
    /// let patient = reads.with_config(&config);
    /// assert_eq!(*patient.policy(), Policy::new().attempts(10));
    /// assert_eq!(patient.run_sync(|| Err::<(), _>("no such table")).unwrap_err().attempts(), 1);
    /// ```
    #[cfg(feature = "serde")]
    pub fn with_config(self, config: &RetryConfig) -> Self {
        let mut retrier = self.with_policy(config.bare_policy);
        let lists = &mut retrier.common.settings.lists;
        for (list, in_file) in
            [(&mut lists.retry_on, &config.retry_on), (&mut lists.abort_on, &config.abort_on)]
        {
            if let Some(matchers) = in_file {
                *list = Some(Arc::clone(matchers));
            }
        }
        if let Some(uncounted) = config.uncounted {
            lists.uncounted = uncounted;
        }
        let has_lists =
            lists.retry_on.is_some() || lists.abort_on.is_some() || !lists.uncounted.is_empty();
        if has_lists { retrier.reading() } else { retrier }
    }

    /// This retrier, which needs the classes of failures.
    const fn reading(mut self) -> Self {
        self.common.settings.read = Some(D::READ);
        self
    }
}

impl<D, V> Retrier<D, V> {
    /// Returns the policy in force: the given one, or the nearest valid one.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new().attempts(5));
    /// println!("{}", retrier.policy());
    /// # assert_eq!(*retrier.policy(), Policy::new().attempts(5));
    /// ```
    pub fn policy(&self) -> &Policy {
        &self.common.settings.policy
    }

    /// Checks that the given policy is valid, and thus the one in force.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// assert!(Retrier::new(Policy::new()).validate().is_ok());
    ///
    /// let wrong = Retrier::new(Policy::new().attempts(0));
    /// assert!(wrong.validate().unwrap_err().to_string().contains("at least 1"));
    /// ```
    ///
    /// # Errors
    /// The rules that it breaks.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.common.settings.invalid().map_or(Ok(()), Err)
    }

    fn with<N>(self, decider: impl FnOnce(D) -> N) -> Retrier<N, V> {
        let Self { common, decider: old } = self;
        Retrier { common, decider: decider(old) }
    }

    pub(crate) fn with_values<W>(self, values: W) -> Retrier<D, W> {
        let Self { common: Common { settings, .. }, decider } = self;
        Retrier { common: Common { settings, values }, decider }
    }
}
