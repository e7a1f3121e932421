use std::io;

use retry_runtime::retry;

#[retry(breaker { failure_threshold = 5, timeout = "30s" })]
async fn in_braces() -> io::Result<u32> {
    Ok(7)
}

#[retry(breaker[failure_threshold = 5])]
async fn in_brackets() -> io::Result<u32> {
    Ok(7)
}

#[retry(breaker = { failure_threshold = 5, timeout = "30s" })]
async fn assigned() -> io::Result<u32> {
    Ok(7)
}

#[retry(breaker = (failure_threshold = 5))]
async fn assigned_in_parentheses() -> io::Result<u32> {
    Ok(7)
}

fn main() {}
