mod hedge_on_sync_fn_by_policy {
    use retry_runtime::{Policy, policy, retry};

    const HTTP: Policy = policy!(attempts = 3, hedge = "200ms");

    #[retry(policy = HTTP)]
    fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod policy_base_nan_const {
    use retry_runtime::{Policy, policy};

    const HTTP: Policy = policy!(backoff = exponential(base = f64::NAN));
}

mod policy_built_by_hand_invalid {
    use retry_runtime::{Policy, retry};

    const HTTP: Policy = Policy::new().attempts(0);

    #[retry(policy = HTTP)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod policy_invalid_by_override {
    use retry_runtime::{Policy, policy, retry};

    const HTTP: Policy = policy!(attempts = 5, initial_delay = "10s");

    #[retry(policy = HTTP, max_delay = "5s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod timeout_on_sync_fn_by_policy {
    use retry_runtime::{Policy, policy, retry};

    const HTTP: Policy = policy!(timeout = "2s");

    #[retry(policy = HTTP)]
    fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod uncounted_unbounded_by_policy {
    use retry_runtime::{Policy, policy, retry};

    const HTTP: Policy = policy!(attempts = 5, jitter);

    #[retry(policy = HTTP, uncounted = [rate_limit])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
