use retry_runtime::retry;

#[retry(attempts = 1, max_elapsed = "5m")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
