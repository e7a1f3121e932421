use retry_runtime::retrying;

async fn get(id: u64) -> Result<u64, String> {
    Ok(id)
}

async fn fetch() -> Result<u64, String> {
    retrying!(name = "get", attempts = 3, async { get(7).await }.await)
}

fn main() {}
