use retry_runtime::retry;

enum DbError {
    Busy,
}

#[retry(retry_on = [DbError::Busy])]
async fn fetch() -> Result<u32, DbError> {
    Ok(7)
}

fn main() {}
