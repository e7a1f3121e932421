use std::io;

use retry_runtime::retrying;

async fn connect() -> io::Result<()> {
    retrying!(attempts = 3, async { Ok(()) }).await
}

fn main() {}

// cured 6: attempts = 3 => {}, attempts = 3
