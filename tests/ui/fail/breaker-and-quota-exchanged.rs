use retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryError, RetryQuota, retry};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());

#[retry(breaker = OUTBOUND)]
async fn fetch() -> Result<u32, RetryError<String>> {
    Ok(7)
}

#[retry(quota = DB)]
async fn send() -> Result<u32, RetryError<String>> {
    Ok(7)
}

fn main() {}

// cured 11: quota = DB => quota = OUTBOUND
