use retry_runtime::{RetryError, retry};

#[retry(history = 5, on_failure = continue)]
async fn fetch() -> Result<u32, RetryError<String>> {
    Ok(7)
}

fn main() {}
