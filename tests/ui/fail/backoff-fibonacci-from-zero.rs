use retry_runtime::retry;

#[retry(backoff = fibonacci, initial_delay = "0s")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
