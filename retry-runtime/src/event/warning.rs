//! [`Warning`]: what does not work as its author expects.

use core::fmt;
use core::time::Duration;

use retry_rules::Invalid;

use crate::base::name::Name;
use crate::outcome::ended::Rounded;

/// A policy, a function or a family of breakers that does not work as its author expects:
/// [`Event::Warning`](crate::Event::Warning).
///
/// Its `Display` shows the name, the mistake, and what to write instead. A warning that is reported
/// once per name may be reported again after 4,096 other names.
///
/// ```
/// use retry_runtime::{Event, Warning, on_event};
///
/// let listening = on_event(|event| match event {
///     Event::Warning(Warning::TimeoutNotObeyed { name, timeout, .. }) => {
///         eprintln!("{name} has a timeout of {timeout:?}, which is ignored");
///     }
///     Event::Warning(warning) => eprintln!("{warning}"),
///     _ => {}
/// });
/// # listening.stop();
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Warning<'a> {
    /// A policy known only at runtime breaks a rule, and is replaced with the nearest valid one:
    /// [`Policy::nearest_valid`](crate::Policy::nearest_valid). Reported on failure, once per
    /// function and mistake.
    #[non_exhaustive]
    InvalidPolicy {
        /// The name of the function.
        name: &'a Name,
        /// The mistake, and what to write instead.
        invalid: Invalid,
    },
    /// A call failed whose policy has one of very many different lists of delays, from the 1,024th
    /// on. Each is kept until the program ends: [`Backoff::custom`](crate::Backoff::custom).
    /// Reported once in a program.
    ///
    /// Use a curve, or round the delays, so that the lists repeat.
    #[non_exhaustive]
    ManyDelayLists {
        /// The name of the function.
        name: &'a Name,
        /// The number of lists that are kept.
        lists: usize,
    },
    /// A `timeout` is ignored. Reported once per name, in two cases:
    ///
    /// - A function's policy is known only at runtime, and its error cannot represent an
    ///   interruption, or it is not async. Implement `From<Interrupted>` for the error, or return
    ///   [`RetryError`](crate::RetryError).
    /// - A retrier is called with [`run_sync`](crate::Retrier::run_sync). Call it with
    ///   [`run`](crate::Retrier::run), or remove the timeout.
    #[non_exhaustive]
    TimeoutNotObeyed {
        /// The name of the function or of the retrier.
        name: &'a Name,
        /// The timeout.
        timeout: Duration,
    },
    /// The policy of a function is known only at runtime and has a `hedge`, which is ignored: the
    /// function makes one attempt at a time. Reported on failure, once per function.
    ///
    /// Write `hedge` beside `policy`.
    #[non_exhaustive]
    HedgeNotObeyed {
        /// The name of the function.
        name: &'a Name,
        /// The delay of the hedge.
        hedge: Duration,
    },
    /// A retrier has kinds of failure that use up no attempt, but reads no class from its errors, so
    /// each failure uses one up. Reported on failure, once per name.
    ///
    /// Remove [`opaque`](crate::Retrier::opaque), or state the class of an error with
    /// [`classify`](crate::Retrier::classify).
    #[non_exhaustive]
    UncountedNotObeyed {
        /// The name of the retrier.
        name: &'a Name,
    },
    /// A function that is not async sleeps on a thread that drives async tasks, and
    /// stalls them. Reported once per function.
    #[non_exhaustive]
    BlocksTasks {
        /// The name of the function.
        name: &'a Name,
        /// The length of this sleep.
        wait: Duration,
    },
    /// A function that is not async is called in the page of a browser, or a retrier with
    /// [`run_sync`](crate::Retrier::run_sync) or `blocking`, and the call ends in place of a wait.
    /// Reported once per name.
    ///
    /// Make the function async, or call the retrier with [`run`](crate::Retrier::run).
    #[non_exhaustive]
    CannotWait {
        /// The name of the function or of the retrier.
        name: &'a Name,
        /// The length of the wait.
        wait: Duration,
    },
    /// A family of breakers is full, and none of those looked at can be evicted: calls with other
    /// keys get separate breakers. Reported once, and again only after one could be evicted.
    #[non_exhaustive]
    BreakersFull {
        /// The name of the breaker that did not fit: [`family`](Name::family) and
        /// [`key`](Name::key).
        breaker: &'a Name,
    },
}

impl<'a> Warning<'a> {
    pub(crate) fn subject(&self) -> &'a Name {
        match *self {
            Self::InvalidPolicy { name, .. }
            | Self::ManyDelayLists { name, .. }
            | Self::TimeoutNotObeyed { name, .. }
            | Self::HedgeNotObeyed { name, .. }
            | Self::UncountedNotObeyed { name }
            | Self::BlocksTasks { name, .. }
            | Self::CannotWait { name, .. }
            | Self::BreakersFull { breaker: name } => name,
        }
    }

    /// Returns the sentence without the name and the numbers.
    pub(crate) const fn message(&self) -> &'static str {
        match self {
            Self::InvalidPolicy { .. } => {
                "the policy breaks a rule; the nearest valid policy is used instead"
            }
            Self::ManyDelayLists { .. } => {
                "its policy has one of very many different lists of delays, each of which is kept \
                 until the program ends: use a curve, or round the delays, so that the lists repeat"
            }
            Self::TimeoutNotObeyed { .. } => {
                "its policy has a timeout, which cannot cut off an attempt: a function must be \
                 async, and its error `RetryError`, or a type that implements \
                 `From<retry_runtime::Interrupted>`; a retrier must be called with `run`; or \
                 remove the timeout"
            }
            Self::HedgeNotObeyed { .. } => {
                "its policy has a hedge, but the function makes one attempt at a time: write \
                 `hedge` beside `policy`"
            }
            Self::UncountedNotObeyed { .. } => {
                "its `uncounted` does nothing, because `opaque` reads no class from an error: remove \
                 `opaque`, or state the class with `classify`"
            }
            Self::BlocksTasks { .. } => {
                "sleeps on a thread that drives async tasks, which stalls them: make the function \
                 async, or call it through `spawn_blocking`"
            }
            Self::CannotWait { .. } => {
                "the page of a browser cannot block, so the call ends in place of a wait: make the \
                 function async, or call the retrier with `run`"
            }
            Self::BreakersFull { .. } => {
                "none can be evicted, because those looked at are in use or not idle; new keys \
                 share no breaker"
            }
        }
    }
}

impl fmt::Display for Warning<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BreakersFull { breaker } => write!(f, "circuit breakers `{}`", breaker.family())?,
            _ => write!(f, "{}", self.subject())?,
        }
        write!(f, ": {}", self.message())?;
        match *self {
            Self::InvalidPolicy { invalid, .. } => write!(f, ": {invalid}"),
            Self::ManyDelayLists { lists, .. } => write!(f, " ({lists} are kept)"),
            Self::TimeoutNotObeyed { timeout, .. } => write!(f, " (of {})", Rounded(timeout)),
            Self::HedgeNotObeyed { hedge, .. } => write!(f, " (after {})", Rounded(hedge)),
            Self::UncountedNotObeyed { .. } => Ok(()),
            Self::BlocksTasks { wait, .. } | Self::CannotWait { wait, .. } => {
                write!(f, " (for {})", Rounded(wait))
            }
            Self::BreakersFull { breaker } => {
                write!(f, " (`{}` and others)", breaker.key().unwrap_or_default())
            }
        }
    }
}

impl fmt::Debug for Warning<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Warning({self})")
    }
}
