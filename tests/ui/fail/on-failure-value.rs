use std::io;

use retry_runtime::retry;

#[retry(on_failure = 0)]
async fn count() -> io::Result<u32> {
    Ok(1)
}

#[retry(on_failure = |_| 0)]
async fn sum() -> io::Result<u32> {
    Ok(1)
}

fn main() {}
