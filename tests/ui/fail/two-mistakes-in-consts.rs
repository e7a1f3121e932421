use retry_runtime::retry;

const NONE: u32 = 0;
const FACTOR: f64 = 1.5;

#[retry(attempts = NONE, jitter = FACTOR)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}

// remains: `attempts = 1` never retries
