//! The clock's time as a number, for times that have to fit into an atomic.

use crate::base::clock::{self, Instant, nanos_of};
use crate::base::sync::OnceLock;

/// The start of the count, 146 years from either end: a test's paused clock may be behind the
/// moment at which another test's clock started.
const BEGIN: u64 = 1 << 62;

/// Nanoseconds since an arbitrary moment.
pub(super) fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let now = clock::now();
    let start = *START.get_or_init(|| now);
    match now.checked_duration_since(start) {
        Some(since) => BEGIN.saturating_add(nanos_of(since)),
        None => BEGIN.saturating_sub(nanos_of(start.saturating_duration_since(now))),
    }
}
