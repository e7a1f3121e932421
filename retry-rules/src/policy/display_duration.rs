//! A duration for display: `5m` with the feature `humantime`, `300s` without.

use core::fmt;
use core::time::Duration;

pub(crate) struct DisplayDuration(pub(crate) Duration);

impl fmt::Display for DisplayDuration {
    #[cfg(feature = "humantime")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }

    #[cfg(not(feature = "humantime"))]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without this, a zero would be shown as `0ns`.
        if self.0.is_zero() { f.write_str("0s") } else { fmt::Debug::fmt(&self.0, f) }
    }
}
