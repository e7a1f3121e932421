//! A duration as people are shown it: `5m` where humantime is at hand, `300s` else.

use core::fmt;
use core::time::Duration;

pub(crate) struct Shown(pub(crate) Duration);

impl fmt::Display for Shown {
    #[cfg(feature = "humantime")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }

    #[cfg(not(feature = "humantime"))]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not in nanoseconds, which have never passed.
        if self.0.is_zero() { f.write_str("0s") } else { fmt::Debug::fmt(&self.0, f) }
    }
}
