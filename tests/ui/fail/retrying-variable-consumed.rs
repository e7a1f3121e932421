use std::io;

use retry_runtime::retrying;

async fn send(body: String) -> io::Result<()> {
    drop(body);
    Ok(())
}

async fn post(body: String) -> io::Result<()> {
    retrying!(name = "post", attempts = 3, async { send(body).await }).await
}

fn main() {}
