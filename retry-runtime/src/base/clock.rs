//! The one clock: everything that needs the time reads it here.
//!
//! It is tokio's clock, so `tokio::time::pause()` makes every test instant. Outside a tokio
//! runtime, it is the system's; in a browser, where the standard library knows no time, the page's.

use core::time::Duration;

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) use tokio::time::Instant;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub(crate) use web_time::Instant;

/// The current time.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// `start + span`, or `None` if the system's clock cannot represent that, in which case it never
/// comes.
pub(crate) fn after(start: Instant, span: Duration) -> Option<Instant> {
    start.checked_add(span)
}

/// A duration in nanoseconds, capped at 584 years.
#[inline]
pub(crate) const fn nanos_of(span: Duration) -> u64 {
    span.as_secs().saturating_mul(1_000_000_000).saturating_add(span.subsec_nanos() as u64)
}

/// The system's wall-clock time, to compare with the dates that servers send, which know nothing of
/// tokio's clock.
#[cfg(feature = "http")]
pub(crate) fn wall() -> std::time::SystemTime {
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    return std::time::SystemTime::now();
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    return web_time::web::SystemTimeExt::to_std(web_time::SystemTime::now());
}
