//! [`Event`]: what calls, breakers and quotas report while they run.

pub(crate) mod log_level;
pub(crate) mod retry_event;
pub(crate) mod snapshot;
pub(crate) mod transition;
pub(crate) mod warning;

use core::fmt;
use core::time::Duration;

use retry_rules::{Attempts, Policy};

use crate::base::name::Name;
use crate::event::log_level::LogLevel;
use crate::event::transition::Transition;
use crate::event::warning::Warning;
use crate::outcome::ended::{Ended, Reason, Rounded};

/// Something that happened to a call, a breaker, a quota or a policy;
/// [`on_event`](crate::on_event), `tracing` and `metrics` receive it.
///
/// A call that succeeds at its first attempt reports nothing.
///
/// ```
/// use retry_runtime::{Event, on_event};
///
/// let listening = on_event(|event| match event {
///     Event::Retry { name, attempt, wait, .. } => println!("{name}: {attempt}, next in {wait:?}"),
///     Event::GaveUp { name, reason, .. } => println!("{name}: {reason}"),
///     other => println!("{other}"),
/// });
/// # listening.stop();
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An attempt failed, and another follows after a wait.
    #[non_exhaustive]
    Retry {
        /// The name of the function.
        name: &'a Name,
        /// The attempt that failed; the first is 1.
        attempt: u32,
        /// The number of attempts that the policy allows.
        attempts: Attempts,
        /// The length of the wait before the next attempt.
        wait: Duration,
        /// The sum of the waits before this one.
        waited: Duration,
        /// The level at which `tracing` logs it: [`Retrier::log_retries`](crate::Retrier::log_retries).
        level: LogLevel,
        /// The failure, for display.
        error: &'a dyn fmt::Display,
    },
    /// A call succeeded after having failed.
    #[non_exhaustive]
    Recovered {
        /// The name of the function.
        name: &'a Name,
        /// The attempt that succeeded.
        attempt: u32,
        /// The sum of the waits.
        waited: Duration,
    },
    /// A call was given up.
    #[non_exhaustive]
    GaveUp {
        /// The name of the function.
        name: &'a Name,
        /// The reason for giving up.
        reason: Reason,
        /// The number of attempts that were made.
        attempts: u32,
        /// The sum of the waits.
        waited: Duration,
        /// Set if the next attempt was prevented: the breaker did not admit it, or the call was
        /// cancelled during the wait.
        rejected: bool,
        /// The level at which `tracing` logs it: [`Retrier::log`](crate::Retrier::log), or the
        /// default for this end of a call.
        level: LogLevel,
        /// The last failure, or the rejection.
        error: &'a dyn fmt::Display,
    },
    /// A circuit breaker changed state.
    Breaker(&'a Transition),
    /// A circuit breaker holds all calls, because a server has asked one of them to wait:
    /// [`BreakerConfig::hold`](crate::BreakerConfig::hold). Reported when a hold begins, and each
    /// time its end moves by more than a second.
    #[non_exhaustive]
    Held {
        /// The breaker's name.
        breaker: &'a Name,
        /// The time for which calls are held, from now on.
        held: Duration,
        /// Set if the breaker only observes: calls go through.
        observe_only: bool,
    },
    /// A retry quota cannot pay for a retry. Reported once, and again only after it was
    /// half full.
    #[non_exhaustive]
    QuotaEmpty {
        /// The quota's name.
        quota: &'a Name,
    },
    /// Retries have reached their share of the calls that a retry quota allows:
    /// [`QuotaConfig::share`](crate::QuotaConfig::share). Reported once, and again only after ten
    /// seconds in which none was refused.
    #[non_exhaustive]
    QuotaShareReached {
        /// The quota's name.
        quota: &'a Name,
    },
    /// A call was retried, and so was a call inside it: the attempts multiply. Reported at the end
    /// of the outer call.
    ///
    /// Counted from the outer call's second attempt on, for attempts that failed because of an
    /// inner call in the same task.
    #[non_exhaustive]
    Nested {
        /// The name of the outer function.
        name: &'a Name,
        /// The number of retries of the outer call.
        retries: u32,
        /// The name of the inner function, or the last one if there are several.
        inner: &'a Name,
        /// The number of attempts that were made inside these retries.
        inner_attempts: u32,
    },
    /// The policy of a function was changed at runtime.
    #[non_exhaustive]
    Policy {
        /// The name of the function.
        name: &'a Name,
        /// The policy that its calls obey from now on, as [`Site::policy`](crate::Site::policy)
        /// returns it: `None` if it is known only at runtime.
        policy: Option<Policy>,
        /// The policy in words, as [`Site::policy_text`](crate::Site::policy_text) returns it.
        text: &'a str,
    },
    /// An attempt has not answered in time, and another one joins it: `hedge = "200ms"`.
    #[non_exhaustive]
    Hedged {
        /// The name of the function.
        name: &'a Name,
        /// The attempt that has not answered; the first is 1.
        attempt: u32,
        /// The number of the hedge; the first is 1.
        hedge: u32,
        /// The time after which it began.
        after: Duration,
    },
    /// A hedge was the first of its group to succeed.
    #[non_exhaustive]
    HedgeWon {
        /// The name of the function.
        name: &'a Name,
        /// The attempt that it joined.
        attempt: u32,
        /// The number of the hedge.
        hedge: u32,
    },
    /// A call waits until its circuit breaker admits it: `when_open = wait`, or, if the call has
    /// failed before, until the end of a [hold](crate::BreakerConfig::hold).
    #[non_exhaustive]
    AwaitsBreaker {
        /// The name of the function.
        name: &'a Name,
        /// The breaker's name.
        breaker: &'a str,
        /// The time until it tries the breaker again.
        wait: Duration,
    },
    /// A policy, a function or a family of breakers does not work as its author expects.
    Warning(Warning<'a>),
}

impl<'a> Event<'a> {
    /// Returns the name of the function, the breaker or the quota.
    ///
    /// ```
    /// use retry_runtime::on_event;
    ///
    /// let listening = on_event(|event| {
    ///     if event.name().starts_with("billing::") {
    ///         eprintln!("{event}");
    ///     }
    /// });
    /// # listening.stop();
    /// ```
    pub fn name(&self) -> &'a str {
        self.subject()
    }

    /// The same as a [`Name`], for callers that keep it.
    pub(crate) fn subject(&self) -> &'a Name {
        match *self {
            Self::Retry { name, .. }
            | Self::Recovered { name, .. }
            | Self::GaveUp { name, .. }
            | Self::Held { breaker: name, .. }
            | Self::QuotaEmpty { quota: name }
            | Self::QuotaShareReached { quota: name }
            | Self::Nested { name, .. }
            | Self::Policy { name, .. }
            | Self::Hedged { name, .. }
            | Self::HedgeWon { name, .. }
            | Self::AwaitsBreaker { name, .. } => name,
            Self::Warning(warning) => warning.subject(),
            Self::Breaker(Transition { breaker, .. }) => breaker,
        }
    }
}

/// Displayed on one line: `billing::fetch: attempt 2 of 5 failed, next in 2s: connection refused`
impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retry { name, attempt, attempts, wait, error, .. } => {
                write!(f, "{name}: attempt {attempt}")?;
                if let Attempts::Limited(attempts) = attempts {
                    write!(f, " of {attempts}")?;
                }
                if wait.is_zero() {
                    write!(f, " failed, next at once: {error}")
                } else {
                    write!(f, " failed, next in {}: {error}", Rounded(*wait))
                }
            }
            Self::Recovered { name, attempt, waited } => {
                write!(f, "{name}: attempt {attempt} succeeded")?;
                if waited.is_zero() {
                    Ok(())
                } else {
                    write!(f, " after {} of waiting", Rounded(*waited))
                }
            }
            Self::GaveUp { name, reason, attempts, waited, error, .. } => {
                let (reason, attempts, waited) = (*reason, *attempts, *waited);
                let ended = Ended { reason, attempts, waited, asked: None };
                write!(f, "{name}: {ended}: {error}")
            }
            Self::Breaker(transition) => transition.fmt(f),
            Self::Held { breaker, held, observe_only } => {
                let held = Rounded(*held);
                write!(f, "circuit breaker `{breaker}`: holds all calls for {held}")?;
                f.write_str(if *observe_only { " (observed only)" } else { "" })
            }
            Self::QuotaEmpty { quota } => {
                write!(f, "retry quota `{quota}`: empty, failed calls are not retried")
            }
            Self::QuotaShareReached { quota } => {
                write!(
                    f,
                    "retry quota `{quota}`: its share of the calls is reached, failed calls are not retried"
                )
            }
            Self::Nested { name, retries, inner, inner_attempts } => {
                let (retries, attempts) = (Count(*retries, "retry", "retries"), *inner_attempts);
                let attempts = Count(attempts, "attempt", "attempts");
                write!(f, "{name}: {retries} made {attempts} of `{inner}`, which also retries")
            }
            Self::Policy { name, policy, text } => {
                let now = if policy.is_some() { "now " } else { "" };
                write!(f, "{name}: the policy is {now}{text}")
            }
            Self::Hedged { name, attempt, hedge, after } => {
                let after = Rounded(*after);
                write!(
                    f,
                    "{name}: attempt {attempt} has not answered in {after}, hedge {hedge} begins"
                )
            }
            Self::HedgeWon { name, attempt, hedge } => {
                write!(f, "{name}: hedge {hedge} of attempt {attempt} succeeded first")
            }
            Self::AwaitsBreaker { name, breaker, wait } => {
                write!(f, "{name}: waits {} for circuit breaker `{breaker}`", Rounded(*wait))
            }
            Self::Warning(warning) => warning.fmt(f),
        }
    }
}

/// A count with its noun: `1 retry`, `2 retries`.
struct Count(u32, &'static str, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, one, many) = *self;
        write!(f, "{count} {}", if count == 1 { one } else { many })
    }
}

impl fmt::Debug for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({self})")
    }
}
