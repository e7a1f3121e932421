use retry_runtime::retry;

#[retry(backoff = exponential(base = f64::NAN))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
