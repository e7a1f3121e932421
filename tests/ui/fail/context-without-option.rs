use std::io;

use retry_runtime::retry;

#[retry]
async fn fetch() -> io::Result<u32> {
    Ok(cx.number())
}

fn main() {}
