//! The one clock. Everything that reads time reads it here.
//!
//! It is tokio's, so that `tokio::time::pause()` makes every test instant. It
//! works outside of a tokio runtime too, where it is the system's.

use core::time::Duration;

pub(crate) use tokio::time::Instant;

/// The time now.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// `start + span`, or `None` where that is beyond what the system's clock can
/// say: so far ahead that it never comes.
pub(crate) fn after(start: Instant, span: Duration) -> Option<Instant> {
    start.checked_add(span)
}

/// What the system takes the date to be, for the dates that servers send; they
/// know nothing of tokio's clock.
#[cfg(feature = "http")]
pub(crate) fn wall() -> std::time::SystemTime {
    std::time::SystemTime::now()
}
