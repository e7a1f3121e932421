mod backoff_base_duration {
    use retry_runtime::retry;

    #[retry(backoff = exponential(base = "2s"))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_base_negative {
    use retry_runtime::retry;

    #[retry(backoff = exponential(base = -2.0))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_base_one {
    use retry_runtime::retry;

    #[retry(backoff = exponential(base = 1.0))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_beside_decorrelated {
    use retry_runtime::retry;

    #[retry(backoff = fibonacci, jitter = decorrelated)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_exponential_from_zero {
    use retry_runtime::retry;

    #[retry(initial_delay = "0s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_fibonacci_from_zero {
    use retry_runtime::retry;

    #[retry(backoff = fibonacci, initial_delay = "0s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_fixed_with_a_wait {
    use retry_runtime::retry;

    #[retry(backoff = fixed("2s"))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_linear_increment_zero {
    use retry_runtime::retry;

    #[retry(backoff = linear(increment = "0s"))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_linear_without_increment {
    use retry_runtime::retry;

    #[retry(backoff = linear)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_type_of_another_library {
    use retry_runtime::retry;

    #[retry(backoff = ExponentialBackoff::from_millis(10))]
    async fn fetch() -> std::io::Result<u32> {
        Ok(7)
    }
}

mod backoff_unknown {
    use retry_runtime::retry;

    #[retry(backoff = exponentail)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_unknown_setting {
    use retry_runtime::retry;

    #[retry(backoff = exponential(factor = 2.0))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
