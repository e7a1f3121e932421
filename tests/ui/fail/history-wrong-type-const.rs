use retry_runtime::{RetryError, retry};

const FIVE: usize = 5;

#[retry(history = FIVE)]
async fn fetch() -> Result<u32, RetryError<String>> {
    Ok(7)
}

fn main() {}
