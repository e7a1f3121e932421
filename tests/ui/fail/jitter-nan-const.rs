use retry_runtime::retry;

#[retry(jitter = f64::NAN)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
