use retry_runtime::{RetryError, retry};

#[retry(history = 101)]
async fn fetch() -> Result<u32, RetryError<String>> {
    Ok(7)
}

fn main() {}
