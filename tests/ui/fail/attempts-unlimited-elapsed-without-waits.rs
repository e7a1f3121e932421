use retry_runtime::retry;

#[retry(attempts = unlimited, backoff = fixed, initial_delay = "0s", max_elapsed = unlimited)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
