use retry_runtime::retry;

#[retry(attempts = 3, backoff = custom("1s", "2s", "3s", "4s"))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
