use retry_runtime::retry;

use retry_runtime::{Policy, policy};

const HTTP: Policy = policy!(timeout = "2s");

#[derive(Debug)]
enum DbError {
    Busy,
}

#[retry(policy = HTTP)]
async fn fetch() -> Result<u32, DbError> {
    Err(DbError::Busy)
}

fn main() {}
