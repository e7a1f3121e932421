use retry_runtime::retry;

const GROWTH: f64 = 2.0;

#[retry(backoff = exponential(base = GROWTH / 4.0))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
