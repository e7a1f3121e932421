use retry_runtime::retry;

#[retry(attempts = 0)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}
