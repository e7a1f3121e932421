//! [`RetryError`]: the error of a call that was given up.

use core::error::Error;
use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use crate::base::full_text::{LONGEST_CHAIN, text_with_sources};
use crate::outcome::ended::{Ended, Reason};
use crate::outcome::interrupted::{AttemptError, Interrupted};
use crate::outcome::past_failure::PastFailure;

/// A call that was given up: why, after how many attempts, how long it had waited between them, and
/// the last error.
///
/// An annotated function gets it by returning `Result<T, RetryError<E>>`; its body is still checked
/// as `Result<T, E>`.
///
/// ```
/// use retry_runtime::{Policy, Reason, Retrier};
///
/// let error = Retrier::new(Policy::new().attempts(1))
///     .run_sync(|| "no number".parse::<u32>())
///     .unwrap_err();
/// assert_eq!(error.reason(), Reason::Attempts);
/// assert_eq!(error.attempts(), 1);
/// assert!(error.last().is_some());
/// assert_eq!(error.to_string(), "gave up after 1 attempt (all attempts were used)");
/// assert_eq!(
///     format!("{error:#}"),
///     "gave up after 1 attempt (all attempts were used): invalid digit found in string",
/// );
/// ```
///
/// `{:#}` also prints the last error and each error that it wraps, as `anyhow` does and as events
/// show a failure: `gave up after …: request failed: error sending request: connection refused`. A
/// text that the preceding ones contain is not repeated. After [`map`](Self::map), it prints only
/// the new error.
#[derive(Clone, PartialEq, Eq)]
pub struct RetryError<E>(Box<GivenUp<E>>);

/// Returns the error that an error of type `E` wraps.
///
/// The code that creates a [`RetryError`] knows whether its `E` is an [`Error`]. Its `Display` does
/// not, because it is implemented for texts too.
pub(crate) type SourceOf<E> = fn(&E) -> Option<&(dyn Error + 'static)>;

/// The fields of a [`RetryError`]. Boxed, because it is larger than most errors and values, and
/// every result that may hold it would be as large.
#[derive(Clone)]
struct GivenUp<E> {
    last: AttemptError<E>,
    ended: Ended,
    history: Vec<PastFailure>,
    source_of: SourceOf<E>,
}

impl<E: PartialEq> PartialEq for GivenUp<E> {
    fn eq(&self, other: &Self) -> bool {
        let Self { last, ended, history, source_of: _ } = self;
        (last, ended, history) == (&other.last, &other.ended, &other.history)
    }
}

impl<E: Eq> Eq for GivenUp<E> {}

impl<E> RetryError<E> {
    retry_rules::accessors! {
        /// Returns why the call was given up.
        ///
        /// ```
        /// # use retry_runtime::{Policy, Reason, Retrier};
        /// let retrier = Retrier::new(Policy::new().attempts(1));
        /// let error = retrier.run_sync(|| Err::<(), _>("busy")).unwrap_err();
        /// assert_eq!(error.reason(), Reason::Attempts);
        /// ```
        pub fn reason(&self) -> Reason { 0.ended.reason }

        /// Returns how many attempts were made; 0 if a breaker rejected the first, or the call was
        /// cancelled before it.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_runtime::{Policy, Retrier};
        /// let retrier = Retrier::new(Policy::new().attempts(4).initial_delay(Duration::from_millis(1)));
        /// let error = retrier.run_sync(|| Err::<(), _>("busy")).unwrap_err();
        /// assert_eq!(error.attempts(), 4);
        /// ```
        pub fn attempts(&self) -> u32 { 0.ended.attempts }

        /// Returns the sum of the waits between the attempts. A wait that was cancelled counts as far as
        /// it lasted.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_runtime::{Policy, Retrier};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() {
        /// let error = Retrier::new(Policy::new()).run(|| async { Err::<(), _>("busy") }).await.unwrap_err();
        /// assert_eq!(error.waited(), Duration::from_secs(3));
        /// # }
        /// ```
        pub fn waited(&self) -> Duration { 0.ended.waited }

        /// Returns the wait that the server asked for with the last failure, if it is above zero. It
        /// does not depend on the reason. If the breaker holds all calls, it is the rest of the hold.
        ///
        /// ```
        /// use std::time::Duration;
        ///
        /// use retry_runtime::{Policy, Reason, Retrier};
        ///
        /// let retrier = Retrier::new(Policy::new().max_retry_after(Duration::from_secs(600)))
        ///     .retry_after(|_: &&str| Some(Duration::from_secs(7_200)));
        /// let error = retrier.run_sync(|| Err::<(), _>("come back later")).unwrap_err();
        /// assert_eq!((error.reason(), error.attempts()), (Reason::RetryAfter, 1));
        /// assert_eq!(error.retry_after(), Some(Duration::from_secs(7_200)));
        /// ```
        pub fn retry_after(&self) -> Option<Duration> { 0.ended.asked }

        /// Returns the last error, or `None` if there was none: see
        /// [`interrupted`](Self::interrupted).
        ///
        /// ```
        /// # use retry_runtime::{Policy, Retrier};
        /// let retrier = Retrier::new(Policy::new().attempts(1));
        /// let error = retrier.run_sync(|| Err::<(), _>("busy")).unwrap_err();
        /// assert_eq!(error.last(), Some(&"busy"));
        /// ```
        pub fn last(&self) -> Option<&E> { 0.last.as_result().ok() }
    }

    /// Returns the last error, by value.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new().attempts(1));
    /// let error = retrier.run_sync(|| Err::<(), _>("busy")).unwrap_err();
    /// assert_eq!(error.into_last(), Some("busy"));
    /// ```
    pub fn into_last(self) -> Option<E> {
        self.0.last.into_result().ok()
    }

    /// Returns the last error, or, if an attempt ended without one, what `convert` makes of the
    /// interruption.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// #[derive(Debug, PartialEq)]
    /// enum Failure { Busy, TimedOut }
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(1)).opaque();
    /// # impl std::fmt::Display for Failure {
    /// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("busy") }
    /// # }
    /// let error = retrier.run_sync(|| Err::<(), _>(Failure::Busy)).unwrap_err();
    /// assert_eq!(error.into_last_or_else(|_| Failure::TimedOut), Failure::Busy);
    /// ```
    pub fn into_last_or_else(self, convert: impl FnOnce(Interrupted) -> E) -> E {
        self.0.last.into_result().unwrap_or_else(convert)
    }

    /// Returns the last error, or, if an attempt ended without one, the interruption converted to
    /// `E`, which implements `From<Interrupted>`: for a function that returns `Result<T, E>`.
    ///
    /// If `E` is an [`Error`], `?` converts a `RetryError<E>` into an `anyhow::Error` or a
    /// box, and keeps how the call ended. A `RetryError<anyhow::Error>` is not an `Error`,
    /// since `anyhow::Error` is not: use `.map_err(RetryError::into_error)?`, or
    /// [`erased`](Self::erased), which keeps how the call ended.
    ///
    /// ```
    /// use retry_runtime::{Policy, RetryError, Retrier};
    ///
    /// fn read() -> std::io::Result<String> {
    ///     let retrier = Retrier::new(Policy::new().attempts(1));
    ///     retrier.run_sync(|| std::fs::read_to_string("/no/such/file")).map_err(RetryError::into_error)
    /// }
    /// assert_eq!(read().unwrap_err().kind(), std::io::ErrorKind::NotFound);
    /// ```
    pub fn into_error(self) -> E
    where
        Interrupted: IntoError<E>,
    {
        self.into_last_or_else(IntoError::into_error)
    }

    /// Converts the last error, and keeps how the call ended.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let error = Retrier::new(Policy::new().attempts(1)).run_sync(|| Err::<(), _>("busy")).unwrap_err();
    /// let error = error.map(str::len);
    /// assert_eq!((error.attempts(), error.last()), (1, Some(&4)));
    /// ```
    pub fn map<F>(self, f: impl FnOnce(E) -> F) -> RetryError<F> {
        let GivenUp { last, ended, history, .. } = *self.0;
        let last = last.into_result().map(f);
        let last = last.map_or_else(AttemptError::Interrupted, AttemptError::Error);
        RetryError::of_call(last, ended, |_| None).with_history(history)
    }

    /// Hides the type of the last error, and keeps how the call ended. The result is an [`Error`]
    /// even if the last error is not one, such as `anyhow::Error`, a box or a text, so `?` converts
    /// it into an `anyhow::Error` or a box.
    ///
    /// ```
    /// use retry_runtime::{Policy, RetryError, Retrier};
    /// use std::error::Error;
    ///
    /// fn read() -> Result<(), Box<dyn Error + Send + Sync>> {
    ///     let retrier = Retrier::new(Policy::new().attempts(1));
    ///     Ok(retrier.run_sync(|| Err("busy".to_owned())).map_err(RetryError::erased)?)
    /// }
    /// assert_eq!(read().unwrap_err().source().unwrap().to_string(), "busy");
    /// ```
    pub fn erased(self) -> RetryError<Arc<dyn Error + Send + Sync>>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let mut error = self.map(|error| Arc::<dyn Error + Send + Sync>::from(error.into()));
        error.0.source_of = |last| last.source();
        error
    }

    /// Converts the error into a box that contains an [`erased`](Self::erased) one.
    ///
    /// ```
    /// use retry_runtime::{Policy, RetryError, Retrier};
    /// use std::error::Error;
    /// use std::sync::Arc;
    ///
    /// type BoxError = Box<dyn Error + Send + Sync>;
    ///
    /// let error: RetryError<BoxError> = Retrier::new(Policy::new().attempts(1))
    ///     .run_sync(|| Err::<(), BoxError>("busy".into()))
    ///     .unwrap_err();
    /// let error: BoxError = error.boxed();
    /// let inside: &RetryError<Arc<dyn Error + Send + Sync>> = error.downcast_ref().unwrap();
    /// assert_eq!(inside.attempts(), 1);
    /// ```
    pub fn boxed(self) -> Box<dyn Error + Send + Sync>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        Box::new(self.erased())
    }

    retry_rules::accessors! {
        /// Returns how the last attempt ended if it had no error: what cut it off, or that it
        /// returned a value.
        ///
        /// ```
        /// # use std::time::Duration;
        /// # use retry_runtime::{Interrupted, Policy, Retrier};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() {
        /// let policy = Policy::new().attempts(1).timeout(Duration::from_secs(2));
        /// let retrier = Retrier::new(policy);
        /// let error = retrier.run(|| core::future::pending::<Result<(), String>>()).await.unwrap_err();
        /// assert!(matches!(error.interrupted(), Some(Interrupted::Timeout { .. })));
        /// assert_eq!(error.last(), None);
        /// # }
        /// ```
        pub fn interrupted(&self) -> Option<&Interrupted> { 0.last.as_result().err() }

        /// Returns the last failures of the call, the oldest first: as many as `history = n` keeps, or
        /// none without it.
        ///
        /// Each attempt that ended with a failure counts, also a hedge that failed while another
        /// attempt ran. Attempts that a breaker rejected do not. The last failure is included; what
        /// comes before a [reset](crate::Attempt::reset) stays. If the deadline cut off the last
        /// attempt, that is the last entry, and [`last`](Self::last) returns the error of the entry
        /// before it.
        ///
        #[cfg_attr(feature = "macros", doc = "```")]
        #[cfg_attr(not(feature = "macros"), doc = "```ignore")]
        /// use retry_runtime::{RetryError, retry};
        ///
        /// #[retry(attempts = 3, history = 2)]
        /// async fn fetch(replicas: &mut Vec<&'static str>) -> Result<u32, RetryError<String>> {
        ///     Err(format!("{} is down", replicas.pop().unwrap_or("the last one")))
        /// }
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() {
        /// let error = fetch(&mut vec!["c", "b", "a"]).await.unwrap_err();
        /// let texts: Vec<_> = error.history().iter().map(ToString::to_string).collect();
        /// assert_eq!(texts, ["attempt 2: b is down", "attempt 3: c is down"]);
        /// # }
        /// ```
        pub fn history(&self) -> &[PastFailure] { &0.history }
    }

    /// Creates the error of a call that has ended.
    pub(crate) fn of_call(last: AttemptError<E>, ended: Ended, source_of: SourceOf<E>) -> Self {
        Self(Box::new(GivenUp { last, ended, history: Vec::new(), source_of }))
    }

    /// Returns this error with the failures that its call has kept.
    pub(crate) fn with_history(mut self, history: Vec<PastFailure>) -> Self {
        self.0.history = history;
        self
    }
}

impl<E> From<Interrupted> for RetryError<E /* a body fails with `E`; write aliases out */> {
    fn from(interrupted: Interrupted) -> Self {
        let reason = match interrupted {
            Interrupted::Timeout { .. } | Interrupted::Value => Reason::Attempts,
            Interrupted::Deadline { .. } => Reason::Deadline,
            Interrupted::CircuitOpen { .. } => Reason::CircuitOpen,
            Interrupted::Held { .. } => Reason::Held,
            Interrupted::Cancelled => Reason::Cancelled,
        };
        let ended = Ended::without_attempt(reason, interrupted.held_for());
        Self::of_call(AttemptError::Interrupted(interrupted), ended, |_| None)
    }
}

/// An error of the last error's kind, with the `RetryError` inside.
///
/// ```
/// use std::io;
/// use retry_runtime::{Policy, Retrier, RetryError};
///
/// let retrier = Retrier::new(Policy::new().attempts(1));
/// let given_up = retrier.run_sync(|| Err::<(), _>(io::Error::from(io::ErrorKind::NotFound)));
/// let error = io::Error::from(given_up.unwrap_err());
/// assert_eq!(error.kind(), io::ErrorKind::NotFound);
/// let inside = error.get_ref().and_then(|inside| inside.downcast_ref::<RetryError<io::Error>>());
/// assert_eq!(inside.unwrap().attempts(), 1);
/// ```
impl From<RetryError<std::io::Error>> for std::io::Error {
    fn from(error: RetryError<std::io::Error>) -> Self {
        let kind = match &error.0.last {
            AttemptError::Error(last) => last.kind(),
            AttemptError::Interrupted(interrupted) => interrupted.io_kind(),
        };
        Self::new(kind, error)
    }
}

impl<E: fmt::Debug> fmt::Debug for RetryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GivenUp { last, ended, history, .. } = &*self.0;
        let mut shown = f.debug_struct("RetryError");
        shown.field("last", last).field("ended", ended);
        if !history.is_empty() {
            shown.field("history", history);
        }
        shown.finish()
    }
}

/// Shows why the call was given up, after how many attempts, after how much waiting, and the wait
/// that the server asked for. The last error is the [`source`](Error::source); `{:#}` prints it
/// too, with the errors that it wraps.
impl<E: fmt::Display> fmt::Display for RetryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.last, self.0.ended.reason) {
            // Converted from an `Interrupted` by hand: the attempts were not counted.
            (AttemptError::Interrupted(_), reason)
                if self.0.ended.attempts == 0
                    && !matches!(
                        reason,
                        Reason::CircuitOpen | Reason::Held | Reason::Cancelled
                    ) =>
            {
                f.write_str("the call was interrupted")?;
            }
            _ => self.0.ended.fmt(f)?,
        }
        match &self.0.last {
            // `text_without_bodies`, with this flag, reads each error of a chain by itself.
            AttemptError::Error(error) if f.alternate() && f.sign_minus() => {
                f.write_str(": ")?;
                fmt::Display::fmt(error, f)
            }
            AttemptError::Error(error) if f.alternate() => {
                let inner = (self.0.source_of)(error);
                let inner = core::iter::successors(inner, |&error| error.source());
                write!(f, ": {}", text_with_sources(error, inner.take(LONGEST_CHAIN)))
            }
            AttemptError::Interrupted(error) if f.alternate() => write!(f, ": {error}"),
            _ => Ok(()),
        }
    }
}

/// Becomes an error `E`. Apart from `Into`, for its message; and not a trait of `E`, which the
/// compiler would suggest as the bound of a type parameter.
#[diagnostic::on_unimplemented(
    message = "`timeout`, `deadline` and `breaker` can end a call without an error of its body, and \
               `{E}` cannot represent that",
    label = "return `Result<…, retry_runtime::RetryError<{E}>>`; or, if this is your own type, \
             implement `From<retry_runtime::Interrupted>` for it",
    note = "a `RetryError` also holds the reason and the number of attempts, and its `into_last()` is \
            an `Option<{E}>`; a type that is `From<RetryError<X>>`, for the error `X` of its body, is \
            returned with `map_error = |error: retry_runtime::RetryError<X>| error.into()`",
    note = "`anyhow::Error`, `Box<dyn Error + Send + Sync>` and `std::io::Error` can represent it \
            already, and so can the errors of tonic, sqlx, redis and tungstenite with the feature \
            of that client, `http::StatusCode` with the feature `http`, and a type parameter with \
            the bound `From<retry_runtime::Interrupted>`"
)]
pub trait IntoError<E> {
    /// Converts the interruption.
    fn into_error(self) -> E;
}

#[doc(hidden)]
#[diagnostic::do_not_recommend]
impl<E: From<Self>> IntoError<E> for Interrupted {
    fn into_error(self) -> E {
        self.into()
    }
}

/// An [`Error`] as the last error of a call. Apart from `Error`, for its label: of a bound that is
/// not met, `?` shows nothing else.
#[diagnostic::on_unimplemented(
    label = "`{Self}` is not a `std::error::Error`, so a `RetryError` of it is not one either: \
             write `.map_err(RetryError::into_error)?`, or `RetryError::erased` to keep how the \
             call ended"
)]
pub trait IsStdError: Error + 'static {}

#[diagnostic::do_not_recommend]
impl<E: Error + 'static> IsStdError for E {}

impl<E: IsStdError> Error for RetryError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0.last {
            AttemptError::Error(error) => Some(error),
            AttemptError::Interrupted(interrupted) => Some(interrupted),
        }
    }
}
