// The delays of a custom backoff as a list.

use retry_runtime::retry;

#[retry(attempts = 3, backoff = custom(["1s", "5s"]))]
async fn fetch() -> Result<(), std::io::Error> {
    Ok(())
}

fn main() {}
