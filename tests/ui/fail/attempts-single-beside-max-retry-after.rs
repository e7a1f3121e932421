use retry_runtime::retry;

#[retry(attempts = 1, max_retry_after = "10m")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
