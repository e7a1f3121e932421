use retry_runtime::{Policy, Retrier, RetryError};

fn load() -> Result<u32, std::io::Error> {
    Ok(7)
}

async fn loaded() -> Result<u32, RetryError<std::io::Error>> {
    Retrier::new(Policy::new()).run(|| load()).await
}

fn main() {}
