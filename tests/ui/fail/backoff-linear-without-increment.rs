use retry_runtime::retry;

#[retry(backoff = linear)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
