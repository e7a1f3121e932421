//! [`Attempt`]: what a body may know of the attempt that runs it.

use core::time::Duration;

use retry_rules::Attempts;

/// The attempt that is running, as the body sees it: `context = cx`.
///
/// ```
/// use retry_runtime::retry;
///
/// #[retry(attempts = 3, context = cx)]
/// async fn fetch() -> Result<u32, String> {
///     if cx.is_last() {
///         return Ok(cx.number());
///     }
///     Err("not yet".to_owned())
/// }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// assert_eq!(fetch().await, Ok(3));
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub(crate) number: u32,
    pub(crate) of: Attempts,
    pub(crate) last_delay: Option<Duration>,
    pub(crate) waited: Duration,
}

impl Attempt {
    /// Which attempt this is; the first is 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether the policy's number of attempts allows none after this one. The
    /// budget, the deadline, the quota or the breaker may end a call earlier.
    pub fn is_last(&self) -> bool {
        matches!(self.of, Attempts::Limited(attempts) if self.number >= attempts)
    }

    /// How long the wait before this attempt was; `None` at the first.
    pub fn last_delay(&self) -> Option<Duration> {
        self.last_delay
    }

    /// The sum of the waits so far.
    pub fn waited(&self) -> Duration {
        self.waited
    }
}
