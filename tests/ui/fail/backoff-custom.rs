mod backoff_custom_above_max {
    use retry_runtime::retry;

    #[retry(attempts = 4, backoff = custom("1s", "45s", "2s"), max_delay = "30s")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_custom_empty {
    use retry_runtime::retry;

    #[retry(backoff = custom())]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_custom_list {
    // The delays of a custom backoff as a list.

    use retry_runtime::retry;

    #[retry(attempts = 3, backoff = custom(["1s", "5s"]))]
    async fn fetch() -> Result<(), std::io::Error> {
        Ok(())
    }
}

mod backoff_custom_missing_comma {
    use retry_runtime::retry;

    #[retry(backoff = custom("1s" "2s"))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_custom_too_many {
    use retry_runtime::retry;

    #[retry(attempts = 3, backoff = custom("1s", "2s", "3s", "4s"))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod backoff_custom_without_delays {
    use retry_runtime::retry;

    #[retry(backoff = custom)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
