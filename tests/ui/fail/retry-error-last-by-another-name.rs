use std::io;

use retry_runtime::{RetryError, retry};

#[retry(attempts = 3)]
async fn load(path: &str) -> Result<String, RetryError<io::Error>> {
    std::fs::read_to_string(path)
}

async fn is_missing() -> bool {
    match load("a").await {
        Err(error) => error.last_error().kind() == io::ErrorKind::NotFound,
        Ok(_) => false,
    }
}

fn main() {}
