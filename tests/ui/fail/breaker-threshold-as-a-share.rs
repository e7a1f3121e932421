use std::io;

use retry_runtime::retry;

#[retry(breaker(failure_threshold = 0.5))]
async fn by_a_share() -> io::Result<u32> {
    Ok(7)
}

#[retry(breaker(failure_threshold = "50%", timeout = "30s"))]
async fn by_a_percentage() -> io::Result<u32> {
    Ok(7)
}

#[retry(breaker(failure_threshold = 1.5))]
async fn by_a_fraction() -> io::Result<u32> {
    Ok(7)
}

fn main() {}
