//! The one clock as a number, for what must fit into an atomic.

use core::time::Duration;

use crate::base::clock::{self, Instant};
use crate::base::sync::OnceLock;

/// Where the count begins; 146 years from either end, for a test's paused clock
/// may stand before the moment at which another test's began.
const BEGIN: u64 = 1 << 62;

/// Nanoseconds since an arbitrary moment.
pub(super) fn nanos() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let now = clock::now();
    let start = *START.get_or_init(|| now);
    match now.checked_duration_since(start) {
        Some(since) => BEGIN.saturating_add(nanos_of(since)),
        None => BEGIN.saturating_sub(nanos_of(start.saturating_duration_since(now))),
    }
}

/// A duration in nanoseconds, cut at 584 years.
#[expect(clippy::cast_possible_truncation, reason = "what does not fit is cut before")]
pub(super) const fn nanos_of(span: Duration) -> u64 {
    let nanos = span.as_nanos();
    if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 }
}
