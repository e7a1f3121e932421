use retry_runtime::retry;

trait Read {}

async fn send(_: impl Read) -> Result<u32, String> {
    Ok(7)
}

#[retry(attempts = 3)]
async fn upload(body: impl Read) -> Result<u32, String> {
    send(body).await
}

fn main() {}
