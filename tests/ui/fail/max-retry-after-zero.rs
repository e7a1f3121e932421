use retry_runtime::retry;

#[retry(max_retry_after = "0s")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
