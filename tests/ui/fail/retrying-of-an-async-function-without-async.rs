//! A block that is not async only creates the future.
use std::io;

use retry_runtime::retrying;

async fn get(id: u64) -> io::Result<u64> {
    Ok(id)
}

pub async fn fetch() -> io::Result<u64> {
    retrying!(name = "get", attempts = 3, || get(7)).await
}

fn main() {}
