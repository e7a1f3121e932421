use retry_runtime::retry;

const WAIT: std::time::Duration = std::time::Duration::from_secs(30);

#[retry(backoff = fibonacci, initial_delay = WAIT)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
