use retry_runtime::retry;

#[retry(backoff = custom("1s" "2s"))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
