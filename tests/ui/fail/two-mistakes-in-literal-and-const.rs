use retry_runtime::retry;

const FACTOR: f64 = 1.5;

#[retry(attempts = 0, jitter = FACTOR)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}

// remains: `attempts = 1` never retries
