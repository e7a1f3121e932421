use std::io;

use retry_runtime::retry;

#[retry(unless = [timeout])]
async fn fetch() -> io::Result<()> {
    Ok(())
}

fn main() {}
