mod breaker_duplicate_setting {
    use retry_runtime::retry;

    #[retry(breaker(failure_threshold = 5, failure_threshold = 4))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_failure_rate_out_of_range {
    use retry_runtime::retry;

    #[retry(breaker(failure_rate = 1.5))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_failure_threshold_zero {
    use retry_runtime::retry;

    #[retry(breaker(failure_threshold = 0))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_half_open {
    //! The settings of a half-open breaker.
    use retry_runtime::{RetryError, retry};

    #[retry(breaker(half_open = slowly))]
    async fn an_unknown_way() -> Result<u32, RetryError<String>> {
        Ok(1)
    }

    #[retry(breaker(half_open = gradual, stage_time = "0s"))]
    async fn stages_without_time() -> Result<u32, RetryError<String>> {
        Ok(1)
    }

    #[retry(breaker(stage_time = "3s"))]
    async fn time_without_stages() -> Result<u32, RetryError<String>> {
        Ok(1)
    }

    #[retry(breaker(half_open_for = "0s"))]
    async fn no_time_at_all() -> Result<u32, RetryError<String>> {
        Ok(1)
    }
}

mod breaker_half_open_requests_zero {
    use retry_runtime::retry;

    #[retry(breaker(half_open_requests = 0))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_hold_zero {
    use retry_runtime::retry;

    #[retry(breaker(hold = "0s"))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_max_timeout_not_above_timeout {
    use retry_runtime::retry;

    #[retry(breaker(timeout_growth = 2.0, timeout = "2m", max_timeout = "1m"))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_max_timeout_without_growth {
    use retry_runtime::retry;

    #[retry(breaker(max_timeout = "1m"))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_minimum_calls_above_window {
    use retry_runtime::retry;

    #[retry(breaker(failure_rate = 0.5, window_calls = 20, minimum_calls = 50))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }

    #[retry(breaker(failure_rate = 0.5, minimum_calls = 200))]
    async fn by_default() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_minimum_calls_zero {
    use retry_runtime::retry;

    #[retry(breaker(failure_rate = 0.5, minimum_calls = 0))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_slow_call_alone {
    use retry_runtime::retry;

    #[retry(breaker(slow_call = "2s"))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_slow_call_zero {
    use retry_runtime::retry;

    #[retry(breaker(slow_call = "0s", slow_rate = 0.5))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_slow_rate_out_of_range {
    use retry_runtime::retry;

    #[retry(breaker(slow_call = "2s", slow_rate = 0.0))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_success_threshold_zero {
    use retry_runtime::retry;

    #[retry(breaker(success_threshold = 0))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_threshold_as_a_share {
    use std::io;

    use retry_runtime::retry;

    #[retry(breaker(failure_threshold = 0.5))]
    async fn by_a_share() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(breaker(failure_threshold = "50%", timeout = "30s"))]
    async fn by_a_percentage() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(breaker(failure_threshold = 1.5))]
    async fn by_a_fraction() -> io::Result<u32> {
        Ok(7)
    }
}

mod breaker_timeout_growth_below_one {
    use retry_runtime::retry;

    #[retry(breaker(timeout_growth = 0.5))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_timeout_jitter_out_of_range {
    use retry_runtime::retry;

    #[retry(breaker(timeout_jitter = 2.0))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_timeout_zero {
    use retry_runtime::retry;

    #[retry(breaker(timeout = "0s"))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_window_empty {
    use retry_runtime::retry;

    #[retry(breaker(failure_rate = 0.5, window_calls = 0))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_window_too_large {
    use retry_runtime::retry;

    #[retry(breaker(failure_rate = 0.5, window_calls = 100_000))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breaker_window_without_rate {
    use retry_runtime::retry;

    #[retry(breaker(window_calls = 50))]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

fn main() {}
