use retry_runtime::{RetryError, retry};

#[retry(history = most)]
async fn fetch(most: u32) -> Result<u32, RetryError<String>> {
    Ok(most)
}

fn main() {}
