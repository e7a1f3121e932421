use retry_runtime::retry;

const NEVER: std::time::Duration = std::time::Duration::ZERO;

#[retry(max_retry_after = NEVER)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
