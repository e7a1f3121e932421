//! A body of which two run at once cannot consume an argument, nor change it.
use retry_runtime::retry;

async fn send(_: Vec<u8>) -> Result<u32, String> {
    Ok(1)
}

#[retry(hedge = "200ms")]
async fn consumed(body: Vec<u8>) -> Result<u32, String> {
    send(body).await
}

#[retry(hedge = "200ms")]
async fn changed(mut body: Vec<u8>) -> Result<u32, String> {
    body.push(1);
    send(body.clone()).await
}

fn main() {}
