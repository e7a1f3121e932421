mod mistake_does_not_hide_the_function {
    use retry_runtime::retry;

    #[retry(attempts = 0)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    fn uses() -> impl Future<Output = Result<u32, String>> {
        fetch()
    }
}

mod runtime_beside_mistakes {
    use retry_runtime::{Policy, retry};

    // Literals are checked beside values that only the running program knows.
    #[retry(policy = policy, backoff = exponential(base = 1.0), jitter = 1.5)]
    async fn fetch(policy: Policy) -> Result<u32, String> {
        Ok(7)
    }
}

mod two_mistakes_in_option_and_signature {
    use retry_runtime::retry;

    #[retry(jitter = 2.0, clone(boddy))]
    async fn send(body: Vec<u8>) -> Result<usize, String> {
        Ok(body.len())
    }
}

mod two_mistakes_in_options {
    use retry_runtime::retry;

    #[retry(attempts = 0, max_delay = "5 parsecs")]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
