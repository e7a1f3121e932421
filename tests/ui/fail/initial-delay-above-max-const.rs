use retry_runtime::retry;

const WAIT: std::time::Duration = std::time::Duration::from_secs(60);

#[retry(initial_delay = WAIT, max_delay = "30s")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
