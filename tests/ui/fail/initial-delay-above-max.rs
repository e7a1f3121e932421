use retry_runtime::retry;

#[retry(initial_delay = "60s", max_delay = "30s")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
