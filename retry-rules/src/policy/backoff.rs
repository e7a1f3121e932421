//! The backoff: how long the n-th wait is, before jitter.

use core::time::Duration;
#[cfg(feature = "std")]
use std::{borrow::Cow, collections::BTreeSet, sync::Mutex, sync::PoisonError};

use crate::policy::arithmetic::{fibonacci, min, power, scale, times};

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

    /// Creates a [`Custom`](Self::Custom) curve from delays known only at run time.
    ///
    /// Each distinct list is kept once, until the program ends, so that a policy can be `Copy`. In
    /// a constant, write `Backoff::Custom(&[…])`.
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
        static KEPT: Mutex<BTreeSet<&'static [Duration]>> = Mutex::new(BTreeSet::new());

        let delays = match delays.into() {
            Cow::Borrowed(delays) => return Self::Custom(delays),
            Cow::Owned(delays) => delays,
        };
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let list = kept.get(&*delays).copied();
        Self::Custom(list.unwrap_or_else(|| {
            let list: &'static [Duration] = delays.leak();
            kept.insert(list);
            list
        }))
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
