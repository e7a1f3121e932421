mod breaker_setting_of_runtime {
    use retry_runtime::retry;

    struct Client {
        failures: u32,
    }

    impl Client {
        #[retry(breaker(failure_threshold = self.failures, timeout = "30s"))]
        async fn get(&self) -> Result<u32, std::io::Error> {
            Ok(1)
        }
    }

    // cured 8: breaker(failure_threshold = self.failures, timeout = "30s") => {}
    // cured 8: failures: u32 => breaker: CircuitBreaker
}

mod history_of_runtime {
    use retry_runtime::{RetryError, retry};

    #[retry(history = most)]
    async fn fetch(most: u32) -> Result<u32, RetryError<String>> {
        Ok(most)
    }
}

mod history_of_runtime_in_block {
    use retry_runtime::{RetryError, retrying};

    async fn fetch(most: u32) -> Result<u32, RetryError<String>> {
        retrying!(name = "fetch", history = most, async || -> Result<u32, RetryError<String>> {
            Ok(most)
        })
        .await
    }
}

mod name_of_runtime {
    use retry_runtime::retry;

    struct Client {
        name: String,
    }

    impl Client {
        #[retry(attempts = 4, name = self.name)]
        async fn get(&self) -> Result<u32, String> {
            Ok(1)
        }
    }

    #[retry(attempts = 4, name = format!("{}.get", 7))]
    async fn get() -> Result<u32, String> {
        Ok(1)
    }
}

mod runtime_value_of_the_environment {
    //! A value that const evaluation cannot compute is reported once, by its source.
    use retry_runtime::retry;

    #[retry(attempts = std::env::var("ATTEMPTS").map_or(3, |text| text.len()))]
    async fn variable() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(attempts = std::env::var("ATTEMPTS").unwrap().parse().unwrap())]
    async fn parsed() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(attempts = runtime(std::env::var("ATTEMPTS").map_or(3, |text| text.parse::<u32>().unwrap())))]
    async fn cured() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
