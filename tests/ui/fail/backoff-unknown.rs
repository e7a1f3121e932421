use retry_runtime::retry;

#[retry(backoff = exponentail)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
