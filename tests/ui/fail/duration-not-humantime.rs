use retry_runtime::retry;

#[retry(max_delay = "5 parsecs")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

#[retry(attempts = 4, deadline = "1m30")]
async fn send() -> Result<u32, String> {
    Ok(7)
}

#[retry(initial_delay = "500MS")]
async fn load() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
