use retry_runtime::retry;

const GROWTH: f64 = f64::INFINITY;

#[retry(backoff = exponential(base = GROWTH))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
