use retry_runtime::retry;

#[retry(attempts = 1, initial_delay = "2s")]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
