use std::io;

use retry_runtime::retry;

#[retry(retry_on = [io::ErrorKind::TimedOut, std::io::ErrorKind::NotFound])]
async fn fetch() -> io::Result<()> {
    Ok(())
}

fn main() {}
