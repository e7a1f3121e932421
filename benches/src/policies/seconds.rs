//! 5 attempts, with waits of 1 s, 2 s, 4 s and 8 s.

use std::time::Duration;

use retry_runtime::{Policy, policy};

const FIRST_WAIT: Duration = Duration::from_secs(1);
const POLICY: Policy = policy!(attempts = 5, initial_delay = FIRST_WAIT);

#[path = "../contenders/mod.rs"]
pub mod contenders;
