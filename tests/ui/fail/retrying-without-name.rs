use std::io;

use retry_runtime::retrying;

async fn connect() -> io::Result<()> {
    retrying!(attempts = 3, async { Ok(()) }).await
}

fn main() {}
