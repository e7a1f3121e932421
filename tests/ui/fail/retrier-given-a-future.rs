use retry_runtime::{Policy, Retrier, RetryError};

async fn fetch() -> Result<u32, std::io::Error> {
    Ok(7)
}

async fn fetched() -> Result<u32, RetryError<std::io::Error>> {
    Retrier::new(Policy::new()).run(fetch()).await
}

fn main() {}
