//! [`Bound`]: a limit on how long something may take, if one is set.

use core::fmt;
use core::time::Duration;

use crate::policy::display_duration::DisplayDuration;

/// The longest time that something may take: the waits of a call, the whole call, an attempt.
///
/// [`None`](Self::None) and [`Unlimited`](Self::Unlimited) both set no limit. `None` means unset,
/// and so does not permit calls that never end; `Unlimited` is deliberate.
///
/// A bound is unset, deliberately absent, or given, so no variant will be added: match it
/// exhaustively.
///
/// ```
/// use core::time::Duration;
/// use retry_rules::{Bound, Policy};
///
/// // From a configuration: `None` sets no bound.
/// let configured: Option<Duration> = Some(Duration::from_secs(30));
/// let policy = Policy::new().with_deadline(Bound::from(configured));
/// assert_eq!(policy.get_deadline(), configured);
///
/// // A loop that reconnects without end.
/// let supervised = Policy::new().unlimited().with_budget(Bound::Unlimited);
/// assert!(supervised.validate().is_ok());
/// assert!(Policy::new().unlimited().validate().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Bound {
    /// No bound. The default.
    #[default]
    None,
    /// Deliberately no bound.
    Unlimited,
    /// At most this long.
    Limited(Duration),
}

impl Bound {
    /// Returns the limit, if there is one.
    pub const fn limit(self) -> Option<Duration> {
        match self {
            Self::None | Self::Unlimited => None,
            Self::Limited(limit) => Some(limit),
        }
    }

    /// Returns whether nothing was set.
    pub(crate) const fn is_none(self) -> bool {
        matches!(self, Self::None)
    }
}

crate::conversion!(|limit: Duration| -> Bound { Self::Limited(limit) });
crate::conversion!(|limit: Option<Duration>| -> Bound { limit.map_or(Self::None, Self::Limited) });

/// Displayed as `5m`, `unlimited` or `none`.
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Unlimited => f.write_str("unlimited"),
            Self::Limited(limit) => DisplayDuration(*limit).fmt(f),
        }
    }
}
