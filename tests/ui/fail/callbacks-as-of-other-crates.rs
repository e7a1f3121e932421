use std::io;

use retry_runtime::retry;

#[retry(on_retry = |error, wait| eprintln!("{error} {wait:?}"))]
async fn notify() -> io::Result<u32> {
    Ok(7)
}

#[retry(on_failure = default)]
async fn zero() -> io::Result<u32> {
    Ok(7)
}

#[retry(on_failure = fallback(0))]
async fn literal() -> io::Result<u32> {
    Ok(7)
}

fn main() {}
