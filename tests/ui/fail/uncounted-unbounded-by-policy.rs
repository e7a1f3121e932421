use retry_runtime::{Policy, policy, retry};

const HTTP: Policy = policy!(attempts = 5, jitter);

#[retry(policy = HTTP, uncounted = [rate_limit])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
