use retry_runtime::retry;

#[retry(quota(capacity = 500))]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
