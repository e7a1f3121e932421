use retry_runtime::retry;

#[retry(backoff = fibonacci, jitter = decorrelated)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
