use retry_runtime::{Policy, Retrier, RetryError};

async fn fetch(id: u64) -> Result<u64, std::io::Error> {
    Ok(id)
}

async fn fetched() -> Result<u64, RetryError<std::io::Error>> {
    Retrier::new(Policy::new()).run(fetch).await
}

fn main() {}
