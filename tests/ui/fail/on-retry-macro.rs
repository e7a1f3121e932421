// A statement where `on_retry` takes a function.

use retry_runtime::retry;

#[retry(attempts = 3, on_retry = eprintln!("again"))]
async fn fetch() -> Result<(), std::io::Error> {
    Ok(())
}

#[retry(attempts = 3, on_retry = eprintln!("again: {:?}", event))]
async fn load() -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
