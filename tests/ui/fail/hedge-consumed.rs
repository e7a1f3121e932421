//! A body of which two run at once cannot consume an argument.
use retry_runtime::retry;

async fn send(_: Vec<u8>) -> Result<u32, String> {
    Ok(1)
}

#[retry(hedge = "200ms")]
async fn consumed(body: Vec<u8>) -> Result<u32, String> {
    send(body).await
}

fn main() {}
