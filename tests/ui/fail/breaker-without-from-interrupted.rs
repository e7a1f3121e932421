use retry_runtime::retry;

use retry_runtime::CircuitBreaker;

static DB: CircuitBreaker = CircuitBreaker::new("db", retry_runtime::BreakerConfig::new());

#[derive(Debug)]
enum DbError {
    Busy,
}

#[retry(breaker = DB)]
async fn fetch() -> Result<u32, DbError> {
    Err(DbError::Busy)
}

fn main() {}
