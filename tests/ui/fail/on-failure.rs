mod on_failure_fallback_without_argument {
    use retry_runtime::retry;

    #[retry(on_failure = fallback)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    // cured 3/1: fallback => fallback(f)
    // cured 3/1: => fn f(_: RetryError<String>) -> u32 { 7 }
    // cured 3/2: fallback => fallback(|error| error.attempts())
}

mod on_failure_unknown {
    use retry_runtime::retry;

    #[retry(on_failure = ignore)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
