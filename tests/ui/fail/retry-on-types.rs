mod retry_on_matches_of_other_type {
    use retry_runtime::retry;

    enum DbError {
        Busy,
    }

    #[retry(retry_on = [matches(DbError::Busy)])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod retry_on_when_not_bool {
    use retry_runtime::retry;

    #[retry(retry_on = [when(|error| error.len())])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod retry_on_when_of_other_type {
    use retry_runtime::retry;

    fn is_transient(error: &std::io::Error) -> bool {
        error.kind() == std::io::ErrorKind::Interrupted
    }

    #[retry(retry_on = [when(is_transient)])]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    struct Page {
        pending: bool,
    }

    #[retry(retry_on = [ok(|page: Page| page.pending)])]
    async fn page() -> Result<Page, String> {
        Ok(Page { pending: false })
    }

    #[retry(retry_on = [when(|error: String| error.is_empty())])]
    async fn text() -> Result<Page, String> {
        Ok(Page { pending: false })
    }
}

mod uncounted_after_opaque {
    use retry_runtime::{Class, Policy, Retrier};

    fn mistake() {
        let retrier = Retrier::new(Policy::new()).opaque().uncounted(Class::RATE_LIMIT);
        let _ = retrier.run_sync(|| Err::<(), u16>(429));
    }
}

mod uncounted_with_a_list {
    use retry_runtime::matchers::rate_limit;
    use retry_runtime::{Policy, Retrier};

    fn mistake() {
        let _ = Retrier::new(Policy::new()).uncounted([rate_limit]);
    }
}

fn main() {}
