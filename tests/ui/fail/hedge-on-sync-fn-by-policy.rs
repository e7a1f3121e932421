use retry_runtime::{Policy, policy, retry};

const HTTP: Policy = policy!(attempts = 3, hedge = "200ms");

#[retry(policy = HTTP)]
fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

fn main() {}
