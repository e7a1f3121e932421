mod attempts_fraction {
    use retry_runtime::retry;

    #[retry(attempts = 2.5)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod attempts_negative {
    use retry_runtime::retry;

    #[retry(attempts = -1)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod attempts_one_beside_retry_options_of_a_waiting_call {
    use retry_runtime::retry;

    #[retry(attempts = 1, budget = "1m", backoff = fixed, breaker(hold = "2m"), when_open = wait)]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod attempts_single_beside_delay {
    use retry_runtime::retry;

    #[retry(attempts = 1, initial_delay = "2s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod attempts_single_beside_max_elapsed {
    use retry_runtime::retry;

    #[retry(attempts = 1, max_elapsed = "5m")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod attempts_single_beside_max_retry_after {
    use retry_runtime::retry;

    #[retry(attempts = 1, max_retry_after = "10m")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod attempts_single_beside_retry_after {
    use std::time::Duration;

    use retry_runtime::{BreakerConfig, CircuitBreaker, RetryError, retry};

    static HOLDING: CircuitBreaker =
        CircuitBreaker::new("api", BreakerConfig::new().hold(Duration::from_secs(60)));

    fn wait(_: &String) -> Option<Duration> {
        None
    }

    #[retry(attempts = 1, retry_after = wait)]
    async fn without_breaker() -> Result<u32, RetryError<String>> {
        Ok(7)
    }

    #[retry(attempts = 1, retry_after = wait, breaker(failure_threshold = 3))]
    async fn without_hold() -> Result<u32, RetryError<String>> {
        Ok(7)
    }

    #[retry(attempts = 1, wait_by = |_, _: &String, wait| std::ops::ControlFlow::Continue(wait / 2), breaker = HOLDING)]
    async fn of_this_call_only() -> Result<u32, RetryError<String>> {
        Ok(7)
    }
}

mod attempts_single_beside_retry_on {
    use retry_runtime::retry;

    #[retry(attempts = 1, retry_on = [network])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod attempts_too_many {
    use retry_runtime::retry;

    #[retry(attempts = 4294967296)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod attempts_unlimited_beside_max_retry_after {
    use retry_runtime::retry;

    #[retry(attempts = unlimited, max_retry_after = unlimited)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod attempts_unlimited_elapsed_without_waits {
    use retry_runtime::retry;

    #[retry(attempts = unlimited, backoff = fixed, initial_delay = "0s", max_elapsed = unlimited)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod attempts_unlimited_unbounded {
    use retry_runtime::retry;

    #[retry(attempts = unlimited)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod attempts_unlimited_without_waits {
    use retry_runtime::retry;

    #[retry(attempts = unlimited, backoff = fixed, initial_delay = "0s", budget = "1m")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod attempts_zero {
    use retry_runtime::retry;

    #[retry(attempts = 0)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
