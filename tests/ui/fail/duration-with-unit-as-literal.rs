use std::io;

use retry_runtime::retry;

#[retry(initial_delay = 500ms, timeout = 2s)]
async fn fetch() -> io::Result<()> {
    Ok(())
}

fn main() {}
