//! Values in the form that another language, or another option, would want.

use retry_runtime::retry;

#[retry(attempts: 3, jitter = 0.0..0.5, retry_on = [500, 429, 501, "network", "busy"])]
async fn fetch() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(initial_delay: "1s", budget = "5m")]
async fn colon() -> std::io::Result<u32> {
    Ok(7)
}

fn main() {}
