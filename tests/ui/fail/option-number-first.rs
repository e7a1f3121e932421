use retry_runtime::retry;

#[retry(3)]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

#[retry(5u8)]
async fn with_a_type() -> Result<u32, String> {
    Ok(7)
}

#[retry(0)]
async fn without_attempts() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
