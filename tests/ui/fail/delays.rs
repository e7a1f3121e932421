mod first_delay_above_bound {
    use retry_runtime::retry;

    #[retry(first_delay = "10s", max_elapsed = "5s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod first_delay_above_max {
    use retry_runtime::retry;

    #[retry(first_delay = "1m")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod initial_delay_above_max {
    use retry_runtime::retry;

    #[retry(initial_delay = "60s", max_delay = "30s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod initial_delay_beside_custom {
    use retry_runtime::retry;

    #[retry(initial_delay = "2s", backoff = custom("1s", "2s"))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod initial_delay_default_above_max {
    use retry_runtime::retry;

    #[retry(max_delay = "500ms")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod initial_delay_without_room {
    use retry_runtime::retry;

    #[retry(initial_delay = "60s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod max_delay_unlimited_custom {
    use retry_runtime::retry;

    #[retry(backoff = custom("1s", "5s"), max_delay = unlimited)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod max_delay_unlimited_decorrelated {
    use retry_runtime::retry;

    #[retry(jitter = decorrelated, max_delay = unlimited)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod max_retry_after_zero {
    use retry_runtime::retry;

    #[retry(max_retry_after = "0s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
