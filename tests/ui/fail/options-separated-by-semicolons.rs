// Options that are separated by `;`, with a wrong one behind it.

use retry_runtime::retry;

#[retry(attempts = 3; jitter; timeout = 2)]
async fn fetch() -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
