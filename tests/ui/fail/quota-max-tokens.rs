use retry_runtime::{QuotaConfig, RetryQuota};

static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new().max_tokens(100));

const SHARE: QuotaConfig = QuotaConfig::new().retry_ratio(0.2);

fn main() {}
