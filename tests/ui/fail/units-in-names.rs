//! A unit is part of the value.

use std::io;

use retry_runtime::retry;

#[retry(initial_delay_ms = 200, timeout_secs = 2, max_wait_ms = WAIT)]
async fn fetch() -> io::Result<u64> {
    Ok(7)
}

const WAIT: u64 = 5;

fn main() {}

// remains: mismatched types
