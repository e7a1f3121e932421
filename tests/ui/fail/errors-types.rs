mod clone_not_clone {
    use retry_runtime::retry;

    struct Body;

    #[retry(clone(body))]
    async fn send(body: Body) -> Result<u32, String> {
        drop(body);
        Ok(7)
    }
}

mod error_of_a_type_parameter {
    use retry_runtime::retry;

    #[retry(attempts = 3, retry_on = [transient])]
    async fn by_class<E>(call: impl Fn() -> Result<u32, E>) -> Result<u32, E> {
        call()
    }

    #[retry(attempts = 3, retry_on = [pattern("busy")])]
    async fn by_text<E>(call: impl Fn() -> Result<u32, E>) -> Result<u32, E> {
        call()
    }

    #[retry(attempts = 3, on_failure = continue)]
    async fn value<T: Clone>(value: &T) -> Result<T, String> {
        Ok(value.clone())
    }

    trait Source {
        type Error: std::error::Error;

        async fn get(&self) -> Result<u32, Self::Error>;
    }

    #[retry(attempts = 3, deadline = "5s")]
    async fn of_a_trait<S: Source>(source: &S) -> Result<u32, S::Error> {
        source.get().await
    }

    // cured 14: by hand
}

mod question_mark_of_a_retry_error {
    //! `?` on a `RetryError` whose last error is not a `std::error::Error`, and `into_error` of one whose
    //! last error cannot represent an interruption.
    use std::error::Error;
    use std::num::ParseIntError;

    use retry_runtime::{RetryError, retry};

    type BoxError = Box<dyn Error + Send + Sync>;

    #[retry(attempts = 3)]
    async fn of_a_box() -> Result<u32, RetryError<BoxError>> {
        Ok(1)
    }

    #[retry(attempts = 3)]
    async fn of_a_text() -> Result<u32, RetryError<String>> {
        Ok(1)
    }

    async fn boxes() -> Result<u32, BoxError> {
        Ok(of_a_box().await?)
    }

    async fn boxes_a_text() -> Result<u32, Box<dyn Error>> {
        Ok(of_a_text().await?)
    }

    #[retry(attempts = 3)]
    async fn of_a_number() -> Result<u32, RetryError<ParseIntError>> {
        "1".parse()
    }

    async fn numbers() -> Result<u32, ParseIntError> {
        of_a_number().await.map_err(RetryError::into_error)
    }

    // cured 21/2: .await? => .await.map_err({})?
    // cured 25/2: .await? => .await.map_err({})?
}

mod retry_on_class_and_pattern_of_mute_error {
    use retry_runtime::retry;

    struct Mute;

    #[retry(retry_on = [network, pattern("locked")])]
    async fn fetch() -> Result<u32, Mute> {
        Ok(7)
    }
}

mod retry_on_class_of_mute_error {
    use retry_runtime::retry;

    struct Mute;

    #[retry(retry_on = [network])]
    async fn fetch() -> Result<u32, Mute> {
        Ok(7)
    }
}

mod retry_on_pattern_of_mute_error {
    use retry_runtime::retry;

    struct Mute;

    #[retry(retry_on = [pattern("locked")])]
    async fn fetch() -> Result<u32, Mute> {
        Ok(7)
    }
}

mod uncounted_of_mute_error {
    use retry_runtime::retry;

    struct Mute;

    #[retry(budget = "1h", uncounted = [rate_limit])]
    async fn fetch() -> Result<u32, Mute> {
        Ok(7)
    }
}

fn main() {}
