use retry_runtime::{RetryError, retrying};

async fn fetch(most: u32) -> Result<u32, RetryError<String>> {
    retrying!(name = "fetch", history = most, async || -> Result<u32, RetryError<String>> {
        Ok(most)
    })
    .await
}

fn main() {}
