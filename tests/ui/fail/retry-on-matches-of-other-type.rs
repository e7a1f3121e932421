use retry_runtime::retry;

enum DbError {
    Busy,
}

#[retry(retry_on = [matches(DbError::Busy)])]
async fn fetch() -> Result<u32, String> {
    Ok(7)
}

fn main() {}
