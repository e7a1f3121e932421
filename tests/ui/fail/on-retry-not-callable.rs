use retry_runtime::retry;

#[retry(on_retry = 5)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
