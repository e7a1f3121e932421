mod return_type_is_an_alias {
    //! An alias hides a `RetryError` from the attribute.
    use std::io;

    use retry_runtime::{RetryError, retry};

    type ApiResult<T> = Result<T, RetryError<io::Error>>;

    #[retry(attempts = 3)]
    async fn read(path: &str) -> ApiResult<String> {
        let text = std::fs::read_to_string(path)?;
        Ok(text.trim().to_owned())
    }
}

mod returns_impl_trait {
    use retry_runtime::retry;

    #[retry]
    async fn fetch() -> impl Iterator<Item = u32> {
        0..7
    }
}

mod returns_u32 {
    use retry_runtime::retry;

    #[retry]
    async fn fetch() -> u32 {
        7
    }
}

mod returns_u32_sync {
    use retry_runtime::retry;

    #[retry]
    fn fetch() -> u32 {
        7
    }
}

fn main() {}
