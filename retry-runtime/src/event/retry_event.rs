//! [`RetryEvent`]: a failed attempt that will be retried, with its typed error, as the function's
//! own `on_retry` sees it.

use core::fmt;
use core::time::Duration;

use retry_rules::Attempts;

use crate::base::full_text::full_text;
use crate::base::name::Name;
use crate::outcome::ended::Rounded;
use crate::outcome::interrupted::Interrupted;

/// A failed attempt that will be retried, as `on_retry = |event| …` sees it.
///
/// ```
/// use retry_runtime::{RetryEvent, retry};
///
/// fn log(event: &RetryEvent<'_, String>) {
///     eprintln!("{event}");
/// }
///
/// #[retry(attempts = 5, on_retry = log)]
/// async fn fetch() -> Result<u32, String> {
///     Ok(7)
/// }
/// ```
#[derive(Debug)]
pub struct RetryEvent<'a, E> {
    pub(crate) name: &'a Name,
    pub(crate) attempt: u32,
    pub(crate) attempts: Attempts,
    pub(crate) failure: Result<&'a E, &'a Interrupted>,
    pub(crate) wait: Duration,
    pub(crate) waited: Duration,
}

impl<E> RetryEvent<'_, E> {
    retry_rules::accessors! {
        /// Returns the name of the function: module path and function name, unless set.
        ///
        /// ```
        /// # use retry_runtime::{Attempts, Policy, RetryEvent, Retrier};
        /// # use std::time::Duration;
        /// let policy = Policy::new().attempts(2).initial_delay(Duration::from_millis(1));
        /// let retrier = Retrier::new(policy).name("orders").on_retry(|event: &RetryEvent<'_, &str>| {
        ///     assert_eq!(event.name(), "orders");
        /// });
        /// assert!(retrier.run_sync(|| Err::<(), _>("busy")).is_err());
        /// ```
        pub fn name(&self) -> &str { name }

        /// Returns the number of the attempt that failed; the first is 1.
        ///
        /// ```
        /// # use retry_runtime::{Attempts, Policy, RetryEvent, Retrier};
        /// # use std::time::Duration;
        /// let policy = Policy::new().attempts(2).initial_delay(Duration::from_millis(1));
        /// let retrier = Retrier::new(policy).name("orders").on_retry(|event: &RetryEvent<'_, &str>| {
        ///     assert_eq!(event.attempt(), 1);
        /// });
        /// assert!(retrier.run_sync(|| Err::<(), _>("busy")).is_err());
        /// ```
        pub fn attempt(&self) -> u32 { attempt }

        /// Returns how many attempts the policy allows.
        ///
        /// ```
        /// # use retry_runtime::{Attempts, Policy, RetryEvent, Retrier};
        /// # use std::time::Duration;
        /// let policy = Policy::new().attempts(2).initial_delay(Duration::from_millis(1));
        /// let retrier = Retrier::new(policy).name("orders").on_retry(|event: &RetryEvent<'_, &str>| {
        ///     assert_eq!(event.attempts(), Attempts::Limited(2));
        /// });
        /// assert!(retrier.run_sync(|| Err::<(), _>("busy")).is_err());
        /// ```
        pub fn attempts(&self) -> Attempts { attempts }

        /// Returns the attempt's error, or `None` if a value counts as the failure (`ok(…)`) or the
        /// attempt was [`interrupted`](Self::interrupted).
        ///
        /// ```
        /// # use retry_runtime::{Attempts, Policy, RetryEvent, Retrier};
        /// # use std::time::Duration;
        /// let policy = Policy::new().attempts(2).initial_delay(Duration::from_millis(1));
        /// let retrier = Retrier::new(policy).name("orders").on_retry(|event: &RetryEvent<'_, &str>| {
        ///     assert_eq!(event.error(), Some(&"busy"));
        /// });
        /// assert!(retrier.run_sync(|| Err::<(), _>("busy")).is_err());
        /// ```
        pub fn error(&self) -> Option<&E> { failure.ok() }

        /// Returns how the attempt ended if it had no error: what cut it off, or that it returned a value
        /// (`ok(…)`). A function that does not return [`RetryError`](crate::RetryError) converts what cuts
        /// an attempt off into its own error: see [`error`](Self::error).
        ///
        /// ```
        /// # use retry_runtime::{Interrupted, Policy, RetryEvent, Retrier};
        /// # use std::time::Duration;
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() {
        /// let policy = Policy::new().attempts(2).timeout(Duration::from_secs(2));
        /// let retrier = Retrier::new(policy).on_retry(|event: &RetryEvent<'_, String>| {
        ///     assert!(matches!(event.interrupted(), Some(Interrupted::Timeout { .. })));
        /// });
        /// assert!(retrier.run(|| core::future::pending::<Result<(), String>>()).await.is_err());
        /// # }
        /// ```
        pub fn interrupted(&self) -> Option<&Interrupted> { failure.err() }

        /// Returns the attempt's error, or how it ended if it had none: [`error`](Self::error) and
        /// [`interrupted`](Self::interrupted) in one.
        ///
        /// ```
        /// # use retry_runtime::{Policy, RetryEvent, Retrier};
        /// # use std::time::Duration;
        /// let policy = Policy::new().attempts(2).initial_delay(Duration::from_millis(1));
        /// let retrier = Retrier::new(policy).on_retry(|event: &RetryEvent<'_, &str>| {
        ///     match event.failure() {
        ///         Ok(error) => eprintln!("failed: {error}"),
        ///         Err(interrupted) => eprintln!("no answer: {interrupted}"),
        ///     }
        /// });
        /// assert!(retrier.run_sync(|| Err::<(), _>("busy")).is_err());
        /// ```
        ///
        /// # Errors
        /// The attempt had no error.
        pub fn failure(&self) -> Result<&E, &Interrupted> { failure }

        /// Returns the wait before the next attempt.
        ///
        /// ```
        /// # use retry_runtime::{Attempts, Policy, RetryEvent, Retrier};
        /// # use std::time::Duration;
        /// let policy = Policy::new().attempts(2).initial_delay(Duration::from_millis(1));
        /// let retrier = Retrier::new(policy).name("orders").on_retry(|event: &RetryEvent<'_, &str>| {
        ///     assert_eq!(event.wait(), Duration::from_millis(1));
        /// });
        /// assert!(retrier.run_sync(|| Err::<(), _>("busy")).is_err());
        /// ```
        pub fn wait(&self) -> Duration { wait }

        /// Returns the sum of the waits before this one.
        ///
        /// ```
        /// # use retry_runtime::{Attempts, Policy, RetryEvent, Retrier};
        /// # use std::time::Duration;
        /// let policy = Policy::new().attempts(2).initial_delay(Duration::from_millis(1));
        /// let retrier = Retrier::new(policy).name("orders").on_retry(|event: &RetryEvent<'_, &str>| {
        ///     assert_eq!(event.waited(), Duration::ZERO);
        /// });
        /// assert!(retrier.run_sync(|| Err::<(), _>("busy")).is_err());
        /// ```
        pub fn waited(&self) -> Duration { waited }
    }
}

/// Displayed as `billing::fetch: attempt 2 of 5 failed, next in 2s: connection refused`, without
/// the texts of the errors that the error wraps.
impl<E: fmt::Display> fmt::Display for RetryEvent<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, attempt, attempts, wait, failure, .. } = self;
        write!(f, "{name}: attempt {attempt} of {attempts} failed, next in {}", Rounded(*wait))?;
        match failure {
            Ok(error) => write!(f, ": {}", full_text(error)),
            Err(Interrupted::Value) => Ok(()),
            Err(interrupted) => write!(f, ": {interrupted}"),
        }
    }
}
