use retry_runtime::retry;

fn longest() -> std::time::Duration {
    std::time::Duration::from_secs(30)
}

#[retry(max_delay = longest())]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
