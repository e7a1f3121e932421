//! [`Interrupted`]: the error of an attempt that did not return one.

use core::error::Error;
use core::fmt;
use core::time::Duration;

use crate::base::name::Name;
use crate::outcome::ended::Rounded;

/// An attempt ended, or never began, without its own error.
///
/// A function whose policy has a `timeout`, a `deadline` or a `breaker` can end this way, so its
/// error must be able to hold one: `E: From<Interrupted>`. With `cancel`, it may. These can already:
///
/// - `anyhow::Error`, `Box<dyn Error + Send + Sync>`, [`std::io::Error`] and
///   [`RetryError`](crate::RetryError)
/// - `tonic::Status`, `sqlx::Error`, `redis::RedisError`, `tungstenite::Error` and
///   `reqwest_middleware::Error`, with the feature of that client
/// - `http::StatusCode`, with the feature `http`: 504 if a time limit passed, otherwise 503. The
///   interruption itself is lost
///
/// A function with another error of another crate returns `Result<T, RetryError<E>>`, or has the
/// option `map_error`. [`find_in`](Self::find_in) reads the interruption from an error.
///
/// ```
/// use retry_runtime::Interrupted;
///
/// #[derive(Debug)]
/// enum ApiError {
///     Http(u16),
///     Interrupted(Interrupted),
/// }
///
/// impl From<Interrupted> for ApiError {
///     fn from(interrupted: Interrupted) -> Self {
///         Self::Interrupted(interrupted)
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interrupted {
    /// The attempt took longer than `timeout` allows.
    #[non_exhaustive]
    Timeout {
        /// The time that the policy allows for one attempt.
        limit: Duration,
    },
    /// The deadline of the whole call passed while an attempt was running.
    #[non_exhaustive]
    Deadline {
        /// The time that the policy allows for the call.
        limit: Duration,
    },
    /// The circuit breaker did not admit the attempt.
    #[non_exhaustive]
    CircuitOpen {
        /// The breaker's name.
        breaker: Name,
        /// The time for which the breaker stays open; zero while it probes (half-open).
        remaining: Duration,
    },
    /// The circuit breaker holds all calls, because a server has asked one of them to wait. Of
    /// class `rate_limit`, with `remaining` as its wait.
    #[non_exhaustive]
    Held {
        /// The breaker's name.
        breaker: Name,
        /// The rest of the hold.
        remaining: Duration,
    },
    /// The future given as `cancel` was ready before the first attempt, which was not made.
    Cancelled,
    /// The attempt returned a value to retry (`ok(…)`) instead of an error. It was not cut off;
    /// fallbacks see this error.
    Value,
}

impl Interrupted {
    /// Creates the interruption of an attempt that other code cut off after `limit`.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use retry_runtime::Interrupted;
    /// let cut = Interrupted::timeout(Duration::from_secs(2));
    /// assert_eq!(cut.to_string(), "the attempt timed out after 2s");
    /// ```
    pub const fn timeout(limit: Duration) -> Self {
        Self::Timeout { limit }
    }

    /// Returns the rest of the hold that has rejected the attempt.
    pub(crate) const fn held_for(&self) -> Option<Duration> {
        match self {
            Self::Held { remaining, .. } => Some(*remaining),
            _ => None,
        }
    }

    /// Returns the kind of an `io::Error` with this reason.
    pub(crate) const fn io_kind(&self) -> std::io::ErrorKind {
        match self {
            Self::Timeout { .. } | Self::Deadline { .. } => std::io::ErrorKind::TimedOut,
            // Not `ErrorKind::Interrupted`, which asks to be tried again.
            Self::CircuitOpen { .. } | Self::Held { .. } | Self::Cancelled | Self::Value => {
                std::io::ErrorKind::Other
            }
        }
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value => f.write_str("the value is one that is retried"),
            Self::Cancelled => f.write_str("the call was cancelled before its first attempt"),
            Self::Timeout { limit } => write!(f, "the attempt timed out after {limit:?}"),
            Self::Deadline { limit } => write!(f, "the deadline of {limit:?} has passed"),
            Self::CircuitOpen { breaker, remaining } if remaining.is_zero() => {
                write!(f, "circuit breaker `{breaker}` is half-open and admits no more probes")
            }
            Self::CircuitOpen { breaker, remaining: Duration::MAX } => {
                write!(f, "circuit breaker `{breaker}` is open until it is reset")
            }
            Self::Held { breaker, remaining } => write!(
                f,
                "circuit breaker `{breaker}` holds all calls for another {}, as a server asked",
                Rounded(*remaining)
            ),
            Self::CircuitOpen { breaker, remaining } => {
                write!(f, "circuit breaker `{breaker}` is open for another {}", Rounded(*remaining))
            }
        }
    }
}

impl Error for Interrupted {}

impl From<Interrupted> for std::io::Error {
    fn from(interrupted: Interrupted) -> Self {
        Self::new(interrupted.io_kind(), interrupted)
    }
}

/// The status of a gateway that got no answer, for handlers that fail with one.
#[cfg(feature = "http")]
impl From<Interrupted> for ::http::StatusCode {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Timeout { .. } | Interrupted::Deadline { .. } => Self::GATEWAY_TIMEOUT,
            Interrupted::CircuitOpen { .. }
            | Interrupted::Held { .. }
            | Interrupted::Cancelled
            | Interrupted::Value => Self::SERVICE_UNAVAILABLE,
        }
    }
}

/// The failure of an attempt: its own error, or an interruption.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum AttemptError<E> {
    Error(E),
    Interrupted(Interrupted),
}

impl<E> AttemptError<E> {
    /// Stands for a value that counts as a failure; the value itself stays with the caller.
    pub(crate) const VALUE: Self = Self::Interrupted(Interrupted::Value);

    pub(crate) fn as_result(&self) -> Result<&E, &Interrupted> {
        match self {
            Self::Error(error) => Ok(error),
            Self::Interrupted(interrupted) => Err(interrupted),
        }
    }

    pub(crate) fn into_result(self) -> Result<E, Interrupted> {
        match self {
            Self::Error(error) => Ok(error),
            Self::Interrupted(interrupted) => Err(interrupted),
        }
    }
}

impl<E> From<Interrupted> for AttemptError<E> {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}
