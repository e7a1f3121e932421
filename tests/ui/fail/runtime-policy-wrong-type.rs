use retry_runtime::retry;

#[retry(policy = retries)]
async fn fetch(retries: u32) -> Result<u32, String> {
    Ok(retries)
}

fn main() {}

// cured 3: by hand
