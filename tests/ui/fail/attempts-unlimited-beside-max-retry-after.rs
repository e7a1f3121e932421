use retry_runtime::retry;

#[retry(attempts = unlimited, max_retry_after = unlimited)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
