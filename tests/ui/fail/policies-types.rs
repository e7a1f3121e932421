mod policy_not_a_policy {
    use retry_runtime::retry;

    const HTTP: u32 = 5;

    #[retry(policy = HTTP)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    // remains: `policy` must be a `Policy`
}

mod policy_values_of_other_types {
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

    // cured 15: Policy { attempts: 5, ..Default::default() } => {}
}

fn main() {}
