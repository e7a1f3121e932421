//! [`CallState`]: the progress of a call, for calls whose state is stored between attempts.

use core::time::Duration;

/// The attempts and waits of a call so far.
///
/// ```
/// use retry_runtime::durable::{CallState, Failed};
/// use retry_runtime::{Policy, Retrier};
/// use std::time::Duration;
///
/// let mut state = CallState::default();
/// Retrier::new(Policy::new()).decide(&mut state, &Failed::now(&"busy"));
/// assert_eq!((state.attempts, state.waited), (1, Duration::from_secs(1)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
pub struct CallState {
    /// Attempts that failed.
    pub attempts: u32,
    /// The sum of the waits, the last one included; at most 584 years.
    pub waited: Duration,
    /// The last wait; `None` before the first.
    pub last_delay: Option<Duration>,
    /// Attempts among `attempts` that failed without using up one: see
    /// [`Retrier::uncounted`](crate::Retrier::uncounted).
    #[cfg_attr(feature = "serde", serde(default))]
    pub uncounted: u32,
}
