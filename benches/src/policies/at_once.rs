//! 5 attempts without waits.

use std::time::Duration;

use retry_runtime::{Policy, policy};

const FIRST_WAIT: Duration = Duration::ZERO;
const POLICY: Policy = policy!(attempts = 5, backoff = fixed, initial_delay = FIRST_WAIT);

#[path = "../contenders/mod.rs"]
pub mod contenders;
