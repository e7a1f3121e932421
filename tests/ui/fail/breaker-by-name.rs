use std::io;

use retry_runtime::retry;

#[retry(breaker = "db")]
async fn fetch() -> io::Result<()> {
    Ok(())
}

#[retry(circuit_breaker = "db")]
async fn send() -> io::Result<()> {
    Ok(())
}

fn main() {}

// remains: `breaker = …` takes a `CircuitBreaker`
