use retry_runtime::{Policy, Retrier, RetryError};

struct Refused;

async fn fetch() -> Result<u32, Refused> {
    Err(Refused)
}

async fn fetched() -> Result<u32, RetryError<Refused>> {
    Retrier::new(Policy::new()).run(|| fetch()).await
}

fn main() {}
