//! The block of an operation awaits what it calls.
use std::io;

use retry_runtime::{Policy, Retrier, RetryError};

async fn get(id: u64) -> io::Result<u64> {
    Ok(id)
}

pub async fn load() -> Result<u64, RetryError<io::Error>> {
    Retrier::new(Policy::new()).run(|| async { get(7) }).await
}

fn main() {}
