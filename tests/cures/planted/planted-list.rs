use retry_runtime::retry;

#[retry(retry_on = { network, timeout })]
async fn fetch() -> std::io::Result<u32> {
    Ok(7)
}
