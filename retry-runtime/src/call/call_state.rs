//! [`CallState`]: what lies behind a call, where it is kept over its waits.

use core::time::Duration;

/// The attempts and waits of a call so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct CallState {
    /// Attempts that failed.
    pub attempts: u32,
    /// The sum of the waits, the last one included.
    pub waited: Duration,
    /// The last wait; `None` before the first.
    pub last_delay: Option<Duration>,
}
