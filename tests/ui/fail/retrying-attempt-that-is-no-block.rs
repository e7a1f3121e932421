use std::io;

use retry_runtime::retrying;

async fn get() -> io::Result<u32> {
    Ok(7)
}

async fn bare() -> io::Result<u32> {
    retrying!(name = "get", attempts = 3, get()).await
}

async fn post() -> io::Result<u32> {
    retrying!(name = "post", attempts = 3, || async { get().await }).await
}

fn main() {}
