use retry_runtime::retry;

#[retry(attempts = 4, backoff = custom("1s", "45s", "2s"), max_delay = "30s")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
