use std::io;

use retry_runtime::retry;

#[retry(crate = again, attempts = 3)]
async fn fetch() -> io::Result<u32> {
    Ok(7)
}

fn main() {}
