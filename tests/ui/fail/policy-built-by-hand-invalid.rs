use retry_runtime::{Policy, retry};

const HTTP: Policy = Policy::new().attempts(0);

#[retry(policy = HTTP)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
