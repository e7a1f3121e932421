use retry_runtime::retry;

#[retry(backoff = linear(increment = "0s"))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
