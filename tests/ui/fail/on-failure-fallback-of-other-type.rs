use retry_runtime::retry;

#[retry(on_failure = fallback(|_| "none"))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
