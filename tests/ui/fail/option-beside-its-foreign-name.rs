use std::io;

use retry_runtime::retry;

#[retry(attempts = 3, max_attempts = 5)]
async fn after() -> io::Result<u32> {
    Ok(7)
}

#[retry(retries = 5, attempts = 3)]
async fn before() -> io::Result<u32> {
    Ok(7)
}

#[retry(initial_delay = "1s", retry_delay = "2s")]
async fn of_a_delay() -> io::Result<u32> {
    Ok(7)
}

#[retry(breaker(failure_threshold = 3), wait_when_open, on_retries = |event| println!("{event}"))]
async fn alone() -> io::Result<u32> {
    Ok(7)
}

#[retry(classify_response = |page: &u32| *page == 0)]
async fn of_a_value() -> io::Result<u32> {
    Ok(7)
}

fn main() {}
