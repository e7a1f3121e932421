use retry_runtime::retry;

#[retry(max_retry_aftr = "10m")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
