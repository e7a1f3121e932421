use retry_runtime::retry;

#[retry(backoff = exponential(factor = 2.0))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
