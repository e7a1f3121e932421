use retry_runtime::retrying;

async fn get(id: u64) -> Result<u64, String> {
    Ok(id)
}

async fn last() -> Result<u64, String> {
    retrying!(name = "get", attempts = 3, async { get(7).await })
}

async fn question_mark() -> Result<u64, String> {
    let id = retrying!(name = "get", attempts = 3, async { get(7).await })?;
    Ok(id)
}

fn main() {}
