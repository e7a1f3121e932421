mod uncounted_beside_unlimited {
    use retry_runtime::retry;

    #[retry(attempts = unlimited, budget = "5m", uncounted = [rate_limit])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod uncounted_budget_without_waits {
    use retry_runtime::retry;

    #[retry(uncounted = [rate_limit], backoff = fixed, initial_delay = "0s", budget = "1m")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod uncounted_in_a_policy {
    use retry_runtime::{Policy, policy};

    const HTTP: Policy = policy!(deadline = "1h", uncounted = [rate_limit]);
}

mod uncounted_outside_of_retry_on {
    use retry_runtime::retry;

    #[retry(budget = "1h", retry_on = [network, timeout], uncounted = [rate_limit, connect])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod uncounted_unbounded {
    use retry_runtime::retry;

    #[retry(attempts = 3, uncounted = [rate_limit])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod uncounted_what_is_no_kind {
    use retry_runtime::retry;

    #[retry(budget = "1h", uncounted = [rate_limit, pattern("(?i)slow down"), 503])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(budget = "1h", uncounted = rate_limit)]
    async fn fetch_one() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(budget = "1h", uncounted = [])]
    async fn fetch_none() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
