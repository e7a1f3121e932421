//! The two policies that calls are measured with. The contenders' files are compiled once for each,
//! so that both measure the same code.

pub mod at_once;
pub mod seconds;

use std::time::Duration;

/// The number of calls, including the first.
pub const ATTEMPTS: u32 = 5;

/// The longest wait.
pub const MAX_WAIT: Duration = Duration::from_secs(30);
