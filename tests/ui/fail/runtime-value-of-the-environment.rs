//! What const evaluation can never call is reported once, as what it is.
use std::time::Duration;

use retry_runtime::retry;

#[retry(attempts = std::env::var("ATTEMPTS").map_or(3, |text| text.len()))]
async fn variable() -> Result<u32, String> {
    Ok(7)
}

#[retry(attempts = 3, max_delay = "5".parse().map_or(Duration::ZERO, Duration::from_secs))]
async fn parsed() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
