use retry_runtime::{Policy, QuotaConfig, RetryQuota, retry};

static OUT: RetryQuota = RetryQuota::new("out", QuotaConfig::new());

#[retry(attempts = 3, budget = OUT)]
async fn query() -> std::io::Result<u32> {
    Ok(7)
}

fn policy() -> Policy {
    Policy::new().jitter(true)
}

fn literal() -> Policy {
    Policy { attempts: 5, ..Default::default() }
}

fn main() {}

// cured 15: Policy { attempts: 5, ..Default::default() } => {}
