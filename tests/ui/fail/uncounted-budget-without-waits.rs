use retry_runtime::retry;

#[retry(uncounted = [rate_limit], backoff = fixed, initial_delay = "0s", budget = "1m")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
