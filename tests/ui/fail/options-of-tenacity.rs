use std::io;

use retry_runtime::retry;

#[retry(reraise = true)]
async fn fetch() -> io::Result<()> {
    Ok(())
}

#[retry(reset_after = "1m")]
async fn listen() -> io::Result<()> {
    Ok(())
}

fn main() {}
