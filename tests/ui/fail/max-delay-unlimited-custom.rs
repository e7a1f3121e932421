use retry_runtime::retry;

#[retry(backoff = custom("1s", "5s"), max_delay = unlimited)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
