use retry_runtime::retry;

const HTTP: u32 = 5;

#[retry(policy = HTTP)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}

// remains: `policy` must be a `Policy`
