mod history_above_hundred {
    use retry_runtime::{RetryError, retry};

    #[retry(history = 101)]
    async fn fetch() -> Result<u32, RetryError<String>> {
        Ok(7)
    }
}

mod history_beside_continue {
    use retry_runtime::{RetryError, retry};

    #[retry(history = 5, on_failure = continue)]
    async fn fetch() -> Result<u32, RetryError<String>> {
        Ok(7)
    }
}

mod history_in_policy {
    use retry_runtime::{Policy, policy};

    const HTTP: Policy = policy!(attempts = 5, history = 5);
}

mod history_not_a_number {
    use retry_runtime::{RetryError, retry};

    #[retry(history = "5")]
    async fn fetch() -> Result<u32, RetryError<String>> {
        Ok(7)
    }
}

mod history_without_retry_error {
    use retry_runtime::retry;

    #[retry(history = 5)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod history_without_retry_error_in_block {
    use retry_runtime::retrying;

    async fn fetch() -> Result<u32, String> {
        retrying!(name = "fetch", history = 5, async { Ok::<u32, String>(7) }).await
    }
}

mod history_without_value {
    use retry_runtime::{RetryError, retry};

    #[retry(history)]
    async fn fetch() -> Result<u32, RetryError<String>> {
        Ok(7)
    }
}

mod history_zero {
    use retry_runtime::{RetryError, retry};

    #[retry(history = 0)]
    async fn fetch() -> Result<u32, RetryError<String>> {
        Ok(7)
    }
}

fn main() {}
