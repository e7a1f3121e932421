use retry_runtime::retry;

#[retry(attempts = 5, jitter, attempts = 4)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
