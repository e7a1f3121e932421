//! Jitter: the interval from which a wait is drawn.
//!
//! Drawing needs randomness, which this crate does not have: the runtime draws uniformly from the
//! interval that is computed here. The interval is cut at `max_delay` *before* the draw. Drawing
//! first and clamping afterwards would pile waits up at the cap and form the herd again.

use core::time::Duration;

#[cfg(feature = "humantime")]
use crate::duration::{self, InvalidDuration};
use crate::policy::arithmetic::{from_nanos, less, min, scale, times};

/// The random spread of waits, so that callers that failed together do not retry
/// together.
///
/// Full, equal and decorrelated jitter follow Marc Brooker, [Exponential
/// Backoff and Jitter](https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
///
/// ```
/// use core::time::Duration;
/// use retry_rules::{Jitter, Policy};
///
/// const SPREAD: Policy = Policy::new().jitter(Jitter::Equal);
/// let (shortest, longest) = SPREAD.wait_interval(2, None);
/// assert_eq!((shortest, longest), (Duration::from_secs(1), Duration::from_secs(2)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Jitter {
    /// Every wait is exactly what the curve says. The default.
    #[default]
    None,
    /// Up to this share less or more: `Proportional(0.3)` is ±30 %. From 0 to 1.
    Proportional(f64),
    /// Anything from zero to the curve's wait.
    Full,
    /// From half of the backoff's wait to all of it.
    Equal,
    /// Anything from the initial delay to three times the previous wait. It replaces the
    /// curve.
    Decorrelated,
    /// Up to this share more: `Up(0.3)` is +30 %. Above 0, at most 1. Where the sum would exceed
    /// [`max_delay`](crate::Policy::max_delay), the waits are as far apart below that, over its upper
    /// half at most: from 70 % of it on for `Up(0.3)`.
    Up(f64),
    /// A time between these two more. Where the sum would exceed
    /// [`max_delay`](crate::Policy::max_delay), the waits are as far apart below that, over its upper
    /// half at most. None is shorter than `least`.
    ///
    /// ```
    /// use core::time::Duration;
    /// use retry_rules::{Backoff, Jitter, Policy};
    ///
    /// const SPREAD: Policy = Policy::new()
    ///     .backoff(Backoff::Fixed)
    ///     .jitter(Jitter::Added { least: Duration::ZERO, most: Duration::from_millis(250) });
    /// let (shortest, longest) = SPREAD.wait_interval(1, None);
    /// assert_eq!((shortest, longest), (Duration::from_secs(1), Duration::from_millis(1_250)));
    ///
    /// const AT_MOST: Policy = SPREAD.max_delay(Duration::from_secs(1));
    /// let (shortest, longest) = AT_MOST.wait_interval(1, None);
    /// assert_eq!((shortest, longest), (Duration::from_millis(750), Duration::from_secs(1)));
    /// ```
    Added {
        /// The least time that is added. At most `most`, and at most the longest wait.
        least: Duration,
        /// The most.
        most: Duration,
    },
}

/// The interval of a wait to which a time in this range is added. It keeps its width below `max`, so
/// that callers that have reached that do not retry together; but at most half of `max`, so that a
/// wide range makes no short wait shorter, and no wait is shorter than the least time that is added.
const fn lengthened(
    wait: Duration,
    range: (Duration, Duration),
    max: Duration,
) -> (Duration, Duration) {
    let width = min(range.1.saturating_sub(range.0), from_nanos(max.as_nanos() / 2));
    let width = min(width, max.saturating_sub(range.0));
    let shortest = min(wait.saturating_add(range.0), max.saturating_sub(width));
    (shortest, wait.saturating_add(range.1))
}

impl Jitter {
    /// The meaning of a bare `jitter`: ±30 %.
    pub const DEFAULT: Self = Self::Proportional(0.3);

    /// Returns the shortest and longest wait that may be drawn when the curve says
    /// `wait`; `previous` is the wait before this one, if any.
    ///
    /// ```
    /// use core::time::Duration;
    /// use retry_rules::Jitter;
    ///
    /// let s = Duration::from_secs;
    /// let (shortest, longest) = Jitter::Proportional(0.5).interval(s(20), s(1), s(25), None);
    /// assert_eq!((shortest, longest), (s(10), s(25)));
    /// ```
    pub const fn interval(
        self,
        wait: Duration,
        initial: Duration,
        max: Duration,
        previous: Option<Duration>,
    ) -> (Duration, Duration) {
        let wait = min(wait, max);
        let (shortest, longest) = match self {
            Self::None => (wait, wait),
            Self::Proportional(factor) => (scale(wait, 1.0 - factor), scale(wait, 1.0 + factor)),
            Self::Full => (Duration::ZERO, wait),
            Self::Equal => (scale(wait, 0.5), wait),
            Self::Decorrelated => {
                let previous = match previous {
                    Some(previous) => previous,
                    None => initial,
                };
                (initial, times(previous, 3))
            }
            Self::Up(factor) => {
                let more = scale(wait, 1.0 + factor).saturating_sub(wait);
                lengthened(wait, (Duration::ZERO, more), max)
            }
            Self::Added { least, most } => lengthened(wait, (least, most), max),
        };
        let longest = min(longest, max);
        // A server's hint may have made the previous wait shorter than a third of the initial
        // delay.
        if less(longest, shortest) { (longest, longest) } else { (shortest, longest) }
    }

    /// Returns the same for a wait that a server asked for. It is not capped at `max_delay`, and
    /// only spread upwards, so that no caller comes back too early.
    ///
    /// `interval` is the result of [`interval`](Self::interval) for the backoff; jitter that is not
    /// a share of the wait spreads the hint by as much as that interval is wide.
    pub(crate) const fn hint_interval(
        self,
        hint: Duration,
        interval: (Duration, Duration),
    ) -> (Duration, Duration) {
        let longest = match self {
            Self::None => hint,
            Self::Proportional(factor) | Self::Up(factor) => scale(hint, 1.0 + factor),
            Self::Added { least, most } => {
                // A range that breaks the rules is one all the same.
                let (least, most) = if less(most, least) { (most, least) } else { (least, most) };
                return (hint.saturating_add(least), hint.saturating_add(most));
            }
            Self::Full | Self::Equal | Self::Decorrelated => {
                hint.saturating_add(interval.1.saturating_sub(interval.0))
            }
        };
        // A factor that breaks the rules must not let callers come back too early.
        if less(longest, hint) { (hint, hint) } else { (hint, longest) }
    }

    /// Returns the word for this jitter, in the attribute and in files.
    ///
    /// ```
    /// assert_eq!(retry_rules::Jitter::Full.name(), "full");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Proportional(_) => "proportional",
            Self::Full => "full",
            Self::Equal => "equal",
            Self::Decorrelated => "decorrelated",
            Self::Up(_) => "up",
            Self::Added { .. } => "added",
        }
    }

    /// Returns whether it makes a wait of 0 s longer.
    pub(crate) const fn adds(self) -> bool {
        matches!(self, Self::Added { least, .. } if !least.is_zero())
    }

    /// Parses a time that is added, such as `"0ms..250ms"`. Without a beginning, it begins at 0 s.
    /// Returns `None` if the text is not a range.
    ///
    /// ```
    /// use core::time::Duration;
    /// use retry_rules::Jitter;
    ///
    /// let (least, most) = (Duration::ZERO, Duration::from_millis(250));
    /// assert_eq!(Jitter::parse_range("0ms..250ms"), Some(Ok(Jitter::Added { least, most })));
    /// assert_eq!(Jitter::parse_range("full"), None);
    /// ```
    ///
    /// # Errors
    /// One of its ends is not a duration, or it has no end.
    #[cfg(feature = "humantime")]
    pub fn parse_range(text: &str) -> Option<Result<Self, InvalidDuration>> {
        let (least, most) = text.split_once("..")?;
        let parsed = || {
            let least = if least.trim().is_empty() { "0s" } else { least.trim() };
            let most = most.trim_start_matches('=').trim();
            if most.is_empty() {
                return Err(duration::without_end(least));
            }
            if duration::lacks_unit(most) {
                return Err(duration::without_unit(&std::format!("{least}..{most}")));
            }
            let (least, most) = (duration::parse(least)?, duration::parse(most)?);
            Ok(Self::Added { least, most })
        };
        Some(parsed())
    }
}
