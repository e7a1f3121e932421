use retry_runtime::retry;

#[retry(backoff = exponential(base = 1.0))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
