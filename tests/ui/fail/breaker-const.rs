use retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryError, RetryQuota, retry};

const DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
const OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());

#[retry(breaker = DB, quota = OUTBOUND)]
async fn fetch() -> Result<u32, RetryError<String>> {
    Ok(7)
}

fn main() {}
