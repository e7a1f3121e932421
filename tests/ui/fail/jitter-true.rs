use retry_runtime::retry;

#[retry(jitter = true)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
