mod attempts_zero_const {
    use retry_runtime::retry;

    const NONE: u32 = 0;

    #[retry(attempts = NONE)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_base_below_one_const {
    use retry_runtime::retry;

    const GROWTH: f64 = 2.0;

    #[retry(backoff = exponential(base = GROWTH / 4.0))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_base_infinite_const {
    use retry_runtime::retry;

    const GROWTH: f64 = f64::INFINITY;

    #[retry(backoff = exponential(base = GROWTH))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_base_nan_const {
    use retry_runtime::retry;

    #[retry(backoff = exponential(base = f64::NAN))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod breaker_failure_threshold_zero_const {
    use retry_runtime::retry;

    const NONE: u32 = 0;

    #[retry(breaker(failure_threshold = NONE))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_window_alone_const {
    use retry_runtime::retry;

    const SAMPLE: u32 = 20;

    #[retry(breaker(minimum_calls = SAMPLE))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod budget_below_first_wait_const {
    use retry_runtime::retry;

    const BUDGET: std::time::Duration = std::time::Duration::from_millis(500);

    #[retry(budget = BUDGET)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod history_above_hundred_const {
    use retry_runtime::{RetryError, retry};

    const MANY: u32 = 1_000;

    #[retry(history = MANY)]
    async fn fetch() -> Result<u32, RetryError<String>> {
        Ok(7)
    }
}

mod initial_delay_above_max_const {
    use retry_runtime::retry;

    const WAIT: std::time::Duration = std::time::Duration::from_secs(60);

    #[retry(initial_delay = WAIT, max_delay = "30s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod initial_delay_without_room_const {
    use retry_runtime::retry;

    const WAIT: std::time::Duration = std::time::Duration::from_secs(30);

    #[retry(backoff = fibonacci, initial_delay = WAIT)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod jitter_nan_const {
    use retry_runtime::retry;

    #[retry(jitter = f64::NAN)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod max_retry_after_zero_const {
    use retry_runtime::retry;

    const NEVER: std::time::Duration = std::time::Duration::ZERO;

    #[retry(max_retry_after = NEVER)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod two_mistakes_in_consts {
    use retry_runtime::retry;

    const NONE: u32 = 0;
    const FACTOR: f64 = 1.5;

    #[retry(attempts = NONE, jitter = FACTOR)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    // remains: `attempts = 1` never retries
}

fn main() {}
