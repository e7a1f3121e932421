use retry_runtime::{RetryError, retry};

const MANY: u32 = 1_000;

#[retry(history = MANY)]
async fn fetch() -> Result<u32, RetryError<String>> {
    Ok(7)
}

fn main() {}
