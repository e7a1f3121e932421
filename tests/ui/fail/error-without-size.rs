use std::error::Error;

use retry_runtime::retry;

#[retry(attempts = 3)]
fn fetch() -> Result<u32, dyn Error + Send + Sync> {
    Ok(7)
}

fn main() {}
