use std::io;

use retry_runtime::retry;

#[retry(attempts = 3, retry_on = all)]
async fn without_brackets() -> io::Result<u32> {
    Ok(7)
}

#[retry(retry_on = [any], attempts = 3)]
async fn in_brackets() -> io::Result<u32> {
    Ok(7)
}

fn main() {}
