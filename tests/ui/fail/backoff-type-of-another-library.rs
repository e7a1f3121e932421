use retry_runtime::retry;

#[retry(backoff = ExponentialBackoff::from_millis(10))]
async fn fetch() -> std::io::Result<u32> {
    Ok(7)
}

fn main() {}
