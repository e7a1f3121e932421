//! The error of an HTTP API client: its class, and how long the server asked to wait.

use std::fmt::{self, Display};
use std::io::ErrorKind;
use std::time::Duration;

use retry_runtime::{Class, Classify, Interrupted, classify};

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq)]
pub enum ApiError {
    /// No connection, or a lost one.
    Connection(ErrorKind),
    /// A status other than success.
    Status {
        /// The status code.
        code: u16,
        /// The value of the `Retry-After` header.
        retry_after: Option<Duration>,
    },
    /// The policy ended the attempt.
    Interrupted(Interrupted),
}

impl ApiError {
    /// A failed response without `Retry-After`.
    #[must_use]
    pub const fn status(code: u16) -> Self {
        Self::Status { code, retry_after: None }
    }

    /// Returns `true` if the server rejected the caller's credentials.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        matches!(self, Self::Status { code: 401, .. })
    }
}

impl Classify for ApiError {
    fn class(&self) -> Class {
        match self {
            Self::Connection(kind) => classify::error(&std::io::Error::from(*kind)),
            Self::Status { code, .. } => classify::status(*code),
            Self::Interrupted(interrupted) => classify::error(interrupted),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(kind) => kind.fmt(f),
            Self::Status { code, .. } => write!(f, "HTTP {code}"),
            Self::Interrupted(interrupted) => interrupted.fmt(f),
        }
    }
}

impl std::error::Error for ApiError {}

impl From<Interrupted> for ApiError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

/// The condition in loops by hand for `retry_on = [network, timeout, server_error, rate_limit]`.
#[cfg(test)]
impl ApiError {
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Connection(_) => true,
            Self::Status { code, .. } => matches!(code, 408 | 429 | 500..=599),
            Self::Interrupted(interrupted) => matches!(interrupted, Interrupted::Timeout { .. }),
        }
    }
}
