use retry_runtime::{Policy, retry};

// Literals are checked beside values that only the running program knows.
#[retry(policy = policy, backoff = exponential(base = 1.0), jitter = 1.5)]
async fn fetch(policy: Policy) -> Result<u32, String> {
    Ok(7)
}

fn main() {}
