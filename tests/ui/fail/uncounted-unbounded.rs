use retry_runtime::retry;

#[retry(attempts = 3, uncounted = [rate_limit])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
