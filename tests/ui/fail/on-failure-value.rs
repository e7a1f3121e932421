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

#[retry(on_failure = fallback(String::new()))]
async fn text() -> io::Result<String> {
    Ok(String::new())
}

#[retry(on_failure = fallback(Ok(7)))]
async fn number() -> io::Result<u32> {
    Ok(7)
}

fn main() {}

// cured 10: |_| 0 => {}
