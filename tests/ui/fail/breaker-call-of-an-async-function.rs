use std::io;

use retry_runtime::{BreakerConfig, CircuitBreaker};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

async fn query() -> io::Result<u64> {
    Ok(7)
}

async fn count() -> io::Result<u64> {
    let rows = DB.call(|| query())?;
    Ok(rows)
}

fn main() {
    let _counting = count();
}
