//! [`AttemptRecord`]: the outcome of one attempt.

use core::fmt;
use core::time::Duration;

use crate::event::Event;
use crate::outcome::ended::Reason;
use crate::outcome::ended::Rounded;

/// An attempt and its outcome; see
/// [`Testing::attempts`](crate::testing::Testing::attempts).
///
/// Its `Display` is one line: `attempt 1: will be retried after 1s: connection refused`.
///
/// ```
/// use retry_runtime::testing;
/// use retry_runtime::{Policy, Retrier};
///
/// let retries = testing::start();
/// let _ = Retrier::new(Policy::new().attempts(1)).name("doc.record").run_sync(|| Err::<(), _>("busy"));
/// let attempts = retries.attempts("doc.record");
/// assert_eq!(attempts[0].attempt, 1);
/// assert!(attempts[0].is_last());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptRecord {
    /// The number of the attempt in its call; the first is 1.
    pub attempt: u32,
    /// The outcome of the attempt.
    pub became: AttemptOutcome,
}

/// The outcome of an attempt.
///
/// ```
/// use retry_runtime::testing::{self, AttemptOutcome};
/// use retry_runtime::{Policy, Reason, Retrier};
///
/// let retries = testing::start();
/// let _ = Retrier::new(Policy::new().attempts(1)).name("doc.outcome").run_sync(|| Err::<(), _>("busy"));
/// let attempts = retries.attempts("doc.outcome");
/// assert!(matches!(
///     attempts[0].became,
///     AttemptOutcome::GaveUp { reason: Reason::Attempts, .. },
/// ));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttemptOutcome {
    /// It succeeded, and the call with it.
    Succeeded,
    /// It failed, and another attempt follows.
    Retried {
        /// The length of the wait before that attempt, slept or skipped.
        wait: Duration,
        /// The text of the error.
        error: String,
    },
    /// It failed, and the call with it.
    GaveUp {
        /// The reason why no other attempt follows.
        reason: Reason,
        /// The text of the error.
        error: String,
    },
    /// It was not made: the circuit breaker did not admit it, and the call ended.
    Rejected {
        /// The breaker's message.
        error: String,
    },
}

impl AttemptRecord {
    pub(super) fn from_event(event: &Event<'_>) -> Option<Self> {
        match *event {
            Event::Retry { attempt, wait, error, .. } => Some(Self {
                attempt,
                became: AttemptOutcome::Retried { wait, error: error.to_string() },
            }),
            Event::GaveUp { attempts, rejected: true, error, .. } => {
                let became = AttemptOutcome::Rejected { error: error.to_string() };
                Some(Self { attempt: attempts.saturating_add(1), became })
            }
            Event::GaveUp { reason, attempts, error, .. } => {
                let became = AttemptOutcome::GaveUp { reason, error: error.to_string() };
                Some(Self { attempt: attempts, became })
            }
            _ => None,
        }
    }

    /// Returns the wait after it, if it was retried.
    pub fn wait(&self) -> Option<Duration> {
        match self.became {
            AttemptOutcome::Retried { wait, .. } => Some(wait),
            _ => None,
        }
    }

    /// Returns what went wrong, as text, or `None` if it succeeded.
    pub fn error(&self) -> Option<&str> {
        match &self.became {
            AttemptOutcome::Succeeded => None,
            AttemptOutcome::Retried { error, .. }
            | AttemptOutcome::GaveUp { error, .. }
            | AttemptOutcome::Rejected { error } => Some(error),
        }
    }

    /// Returns `true` if it was the last of its call.
    pub fn is_last(&self) -> bool {
        !matches!(self.became, AttemptOutcome::Retried { .. })
    }
}

impl fmt::Display for AttemptRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "attempt {}: ", self.attempt)?;
        match &self.became {
            AttemptOutcome::Succeeded => f.write_str("succeeded"),
            AttemptOutcome::Retried { wait, error } => {
                write!(f, "will be retried after {}: {error}", Rounded(*wait))
            }
            AttemptOutcome::GaveUp { reason, error } => write!(f, "given up ({reason}): {error}"),
            AttemptOutcome::Rejected { error } => write!(f, "not made: {error}"),
        }
    }
}
