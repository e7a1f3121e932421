//! The two policies that calls are measured with. The contenders' files are
//! compiled once for each, so that both measure the same code.

pub mod at_once;
pub mod seconds;

use std::time::Duration;

/// Calls in all, the first included.
pub const ATTEMPTS: u32 = 5;

/// No wait is longer.
pub const MAX_WAIT: Duration = Duration::from_secs(30);
