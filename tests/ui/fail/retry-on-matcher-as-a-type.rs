use std::io;

use retry_runtime::retry;

#[retry(retry_on = [retry_runtime::Matcher::Network, Matcher::ServerError, Class::RATE_LIMIT])]
async fn fetch() -> io::Result<u32> {
    Ok(7)
}

fn main() {}
