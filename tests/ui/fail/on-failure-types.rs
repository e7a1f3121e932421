mod on_failure_continue_without_default {
    use retry_runtime::retry;

    struct User;

    #[retry(on_failure = continue)]
    async fn fetch() -> Result<User, String> {
        Ok(User)
    }

    // cured 6: on_failure = continue => {}
    // cured 6: => fn f(_: RetryError<String>) -> User { User }
}

mod on_failure_fallback_async_on_sync_fn {
    use retry_runtime::retry;

    #[retry(on_failure = fallback(|_| async { 7 }))]
    fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod on_failure_fallback_function_of_other_type {
    use retry_runtime::retry;

    fn cached(error: std::io::Error) -> u32 {
        error.raw_os_error().map_or(0, i32::unsigned_abs)
    }

    #[retry(on_failure = fallback(cached))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    /// Stored by an earlier call.
    fn stored(id: u64) -> String {
        format!("stored {id}")
    }

    #[retry(on_failure = fallback(stored))]
    async fn load(id: u64) -> Result<String, std::io::Error> {
        Ok(id.to_string())
    }

    fn either(id: u64, error: &std::io::Error) -> String {
        format!("{id}: {error}")
    }

    #[retry(on_failure = fallback(either))]
    fn load_sync(id: u64) -> Result<String, std::io::Error> {
        Ok(id.to_string())
    }

    // cured 7: fallback(cached) => fallback(|_| 0)
    // cured 17: fallback(stored) => fallback(|_| stored(id))
    // cured 26: fallback(either) => fallback(|error| either(id, &error.into_error()))
}

mod on_failure_fallback_of_other_type {
    use retry_runtime::retry;

    #[retry(on_failure = fallback(|_| "none"))]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
