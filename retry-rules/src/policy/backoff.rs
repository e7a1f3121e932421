//! The backoff: how long the n-th wait is, before jitter.

use core::time::Duration;
#[cfg(feature = "std")]
use std::borrow::Cow;

use crate::policy::arithmetic::{fibonacci, min, power, scale, times};
#[cfg(feature = "std")]
use crate::policy::interned;

/// The curve that the waits follow, starting from a policy's `initial_delay`.
///
/// Waits are counted from 1. No wait is longer than the policy's `max_delay`.
///
/// ```
/// use core::time::Duration;
/// use retry_rules::Backoff;
///
/// let s = Duration::from_secs;
/// assert_eq!(Backoff::Fibonacci.wait(5, s(1), s(30)), s(5));
/// assert_eq!(Backoff::Exponential { base: 2.0 }.wait(u32::MAX, s(1), s(30)), s(30));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Backoff {
    /// Every wait is the initial delay.
    Fixed,
    /// Each wait is longer than the one before it by `increment`.
    Linear {
        /// By how much each wait is longer than the one before it.
        increment: Duration,
    },
    /// Each wait is `base` times the one before it. The default, with base 2.
    Exponential {
        /// The factor, above 1.
        base: f64,
    },
    /// The initial delay times 1, 1, 2, 3, 5, 8, …
    Fibonacci,
    /// These waits, then `max_delay`. The initial delay is unused.
    Custom(&'static [Duration]),
}

impl Backoff {
    /// The default: exponential with base 2.
    pub const DEFAULT: Self = Self::Exponential { base: 2.0 };

    /// Creates a [`Custom`](Self::Custom) curve from delays known only at runtime.
    ///
    /// Each distinct list is kept once, until the program ends, so that a policy can be `Copy`:
    /// this is for lists from configuration, of which there are few. A program that computes a list
    /// for each call loses the memory of each; use a curve instead, or round the delays, so that
    /// the lists repeat. Once 1,024 lists are kept, the first failure of a call with a later one is
    /// reported with the function's name, once in a program. In a constant, write
    /// `Backoff::Custom(&[…])`.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_rules::{Backoff, Policy};
    /// let configured = vec![Duration::from_millis(500), Duration::from_secs(2)];
    /// let policy = Policy::new().backoff(Backoff::custom(configured));
    /// assert_eq!(policy.wait(2), Duration::from_secs(2));
    /// ```
    #[cfg(feature = "std")]
    pub fn custom(delays: impl Into<Cow<'static, [Duration]>>) -> Self {
        Self::Custom(match delays.into() {
            Cow::Borrowed(delays) => delays,
            Cow::Owned(delays) => interned::intern(delays),
        })
    }

    /// Returns how many lists [`custom`](Self::custom) keeps, if these are too many and this curve
    /// is one of those that came last: for the warning.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    #[inline]
    pub fn excess_of_lists(self) -> Option<usize> {
        match self {
            Self::Custom(list) => interned::excess(list),
            _ => None,
        }
    }

    /// Returns the `n`-th wait (from 1) of a policy with these delays, before jitter.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_rules::Backoff;
    /// let s = Duration::from_secs;
    /// assert_eq!(Backoff::Linear { increment: s(2) }.wait(3, s(1), s(30)), s(5));
    /// ```
    pub const fn wait(self, n: u32, initial: Duration, max: Duration) -> Duration {
        let before = n.saturating_sub(1);
        let wait = match self {
            Self::Fixed => initial,
            Self::Linear { increment } => initial.saturating_add(times(increment, before as u64)),
            Self::Exponential { base } => scale(initial, power(base, before)),
            Self::Fibonacci => times(initial, fibonacci(n)),
            Self::Custom(delays) => {
                let index = before as usize;
                if index < delays.len() { delays[index] } else { max }
            }
        };
        min(wait, max)
    }

    /// Returns the word for this curve, in the attribute and in files.
    ///
    /// ```
    /// assert_eq!(retry_rules::Backoff::Fixed.name(), "fixed");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Linear { .. } => "linear",
            Self::Exponential { .. } => "exponential",
            Self::Fibonacci => "fibonacci",
            Self::Custom(_) => "custom",
        }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::DEFAULT
    }
}
