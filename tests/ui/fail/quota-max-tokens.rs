use retry_runtime::{QuotaConfig, RetryQuota};

static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new().max_tokens(100));

fn main() {}
