//! [`LogLevel`]: the level at which the end of a call, or a retry, is logged.

/// The level of the event `gave up` of `tracing`, for [`Retrier::log`](crate::Retrier::log), or of
/// the event of a retry, for [`Retrier::log_retries`](crate::Retrier::log_retries).
///
/// ```
/// use retry_runtime::{LogLevel, Policy, Retrier};
///
/// // The program does without the cache, so its failures are no warnings.
/// static CACHE: Retrier = Retrier::new(Policy::new().attempts(2)).log(LogLevel::Debug);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LogLevel {
    /// The event is not logged.
    Off,
    /// `DEBUG`.
    Debug,
    /// `INFO`.
    Info,
    /// `WARN`.
    Warn,
}
