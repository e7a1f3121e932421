//! [`Ended`] and its [`Reason`]: how a call ended without success.

use core::fmt;
use core::time::Duration;

/// Declares [`Reason`] with a row for each: its word, and a clause that follows "gave up: ".
macro_rules! reasons {
    ($( $(#[$docs:meta])+ $Reason:ident, $word:literal: $clause:literal; )*) => {
        /// The reason why a call is not retried.
        ///
        /// ```
        /// use retry_runtime::{Policy, Reason, Retrier, matchers::network};
        ///
        /// let retrier = Retrier::new(Policy::new()).retry_on([network]);
        /// let error = retrier.run_sync(|| Err::<(), _>("no such table")).unwrap_err();
        /// assert_eq!(error.reason(), Reason::NotRetryable);
        /// assert_eq!(error.reason().to_string(), "the failure is not retryable");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Reason {
            $( $(#[$docs])+ $Reason, )*
        }

        impl Reason {
            /// All reasons.
            pub const ALL: &'static [Self] = &[$( Self::$Reason ),*];

            /// The number of reasons.
            pub(crate) const COUNT: usize = Self::ALL.len();

            /// The position in [`ALL`](Self::ALL).
            pub(crate) const fn index(self) -> usize {
                self as usize
            }

            /// Returns the reason in one word, as events and counters show it.
            ///
            /// ```
            /// # use retry_runtime::Reason;
            /// assert_eq!(Reason::CircuitOpen.as_str(), "circuit_open");
            /// ```
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( Self::$Reason => $word, )*
                }
            }

            const fn clause(self) -> &'static str {
                match self {
                    $( Self::$Reason => $clause, )*
                }
            }
        }
    };
}

reasons! {
    /// All attempts that the policy allows were made.
    Attempts, "attempts": "all attempts were used";
    /// `retry_on` and `abort_on` do not allow the failure to be retried.
    NotRetryable, "not_retryable": "the failure is not retryable";
    /// The attempt cannot be repeated. The request of a layer or a middleware cannot be cloned, its
    /// method is not idempotent, or its service has failed; or a state was lost with an attempt that
    /// was cut off.
    NotRepeatable, "not_repeatable": "the attempt cannot be repeated";
    /// The next wait would take the sum of the waits above the budget.
    Budget, "budget": "the next wait would exceed the budget";
    /// The deadline has passed, or falls inside the next wait.
    Deadline, "deadline": "the deadline leaves no time for another attempt";
    /// The next attempt would begin later than `max_elapsed` after the call began.
    MaxElapsed, "max_elapsed": "the next attempt would begin later than `max_elapsed` allows";
    /// The future given as `cancel` was ready.
    Cancelled, "cancelled": "it was cancelled";
    /// The shared retry quota has no tokens left.
    Quota, "quota": "the retry quota is used up";
    /// The circuit breaker does not currently admit calls.
    CircuitOpen, "circuit_open": "the circuit breaker is open";
    /// The circuit breaker holds all calls, because a server has asked one of them to wait:
    /// [`BreakerConfig::hold`](crate::BreakerConfig::hold).
    Held, "held": "the circuit breaker holds all calls, as a server asked";
    /// An outer function is being retried, and allows the functions that it calls one attempt each:
    /// `nested = once`.
    Nested, "nested": "the function around it is being retried";
    /// The server asked for a longer wait than `max_retry_after` allows.
    RetryAfter, "retry_after": "the server asked for a longer wait than `max_retry_after` allows";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.clause())
    }
}

/// The end of a call: the reason, the attempts made, the sum of the waits, and the wait that the
/// server asked for with the last failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Ended {
    pub reason: Reason,
    pub attempts: u32,
    pub waited: Duration,
    pub asked: Option<Duration>,
}

impl Ended {
    /// Creates the end of a call that made no attempt.
    pub(crate) const fn without_attempt(reason: Reason, asked: Option<Duration>) -> Self {
        Self { reason, attempts: 0, waited: Duration::ZERO, asked }
    }
}

/// Displayed as `gave up after 3 attempts and 3s of waiting (all attempts were used)`.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attempts {
            0 => f.write_str("gave up before the first attempt")?,
            1 => f.write_str("gave up after 1 attempt")?,
            attempts => write!(f, "gave up after {attempts} attempts")?,
        }
        if !self.waited.is_zero() {
            write!(f, " and {} of waiting", Rounded(self.waited))?;
        }
        match (self.reason, self.asked) {
            (Reason::RetryAfter, Some(asked)) => {
                write!(f, " ({}: {})", self.reason, Rounded(asked))
            }
            (Reason::Held, Some(rest)) => write!(
                f,
                " (the circuit breaker holds all calls for another {}, as a server asked)",
                Rounded(rest)
            ),
            (reason, Some(asked)) => {
                write!(f, " ({reason}; the server asked for a wait of {})", Rounded(asked))
            }
            (reason, None) => write!(f, " ({reason})"),
        }
    }
}

/// A duration rounded for display: `1.5s`, not `1.503287914s`.
pub(crate) struct Rounded(pub(crate) Duration);

impl fmt::Display for Rounded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.0 {
            long if long >= Duration::from_secs(1) => 10_000_000,
            short if short >= Duration::from_millis(1) => 10_000,
            _ => 1,
        };
        let nanos = self.0.subsec_nanos() / unit * unit;
        write!(f, "{:?}", Duration::new(self.0.as_secs(), nanos))
    }
}
