use retry_runtime::retry;

#[retry(backoff = fixed("2s"))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
