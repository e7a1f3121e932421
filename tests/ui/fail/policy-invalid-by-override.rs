use retry_runtime::{Policy, policy, retry};

const HTTP: Policy = policy!(attempts = 5, initial_delay = "10s");

#[retry(policy = HTTP, max_delay = "5s")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
