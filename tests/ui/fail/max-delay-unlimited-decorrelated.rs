use retry_runtime::retry;

#[retry(jitter = decorrelated, max_delay = unlimited)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
