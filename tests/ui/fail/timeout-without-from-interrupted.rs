use retry_runtime::retry;

#[derive(Debug)]
enum DbError {
    Busy,
}

#[retry(timeout = "2s")]
async fn fetch() -> Result<u32, DbError> {
    Err(DbError::Busy)
}

fn main() {}
