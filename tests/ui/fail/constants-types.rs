mod attempts_wrong_type_const {
    use retry_runtime::retry;

    const MANY: u64 = 5;

    #[retry(attempts = MANY)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod duration_wrong_type_const {
    use retry_runtime::retry;

    const SECONDS: u64 = 30;

    #[retry(max_delay = SECONDS)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod history_wrong_type_const {
    use retry_runtime::{RetryError, retry};

    const FIVE: usize = 5;

    #[retry(history = FIVE)]
    async fn fetch() -> Result<u32, RetryError<String>> {
        Ok(7)
    }
}

mod name_not_a_string {
    use retry_runtime::retry;

    #[retry(name = 5)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod runtime_attempts_wrong_type {
    use retry_runtime::retry;

    struct Client {
        tries: String,
    }

    impl Client {
        #[retry(attempts = self.tries)]
        async fn fetch(&self) -> Result<String, String> {
            Ok(self.tries.clone())
        }
    }
}

mod runtime_delay_wrong_type {
    use retry_runtime::retry;

    #[retry(initial_delay = wait, deadline = limit)]
    async fn fetch(wait: u64, limit: u64) -> Result<u64, std::io::Error> {
        Ok(wait + limit)
    }
}

mod runtime_policy_wrong_type {
    use retry_runtime::retry;

    #[retry(policy = retries)]
    async fn fetch(retries: u32) -> Result<u32, String> {
        Ok(retries)
    }

    // cured 3: by hand
}

fn main() {}
