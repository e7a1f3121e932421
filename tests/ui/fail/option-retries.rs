use retry_runtime::retry;

#[retry(retries = 4)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
