mod callbacks_that_await {
    use std::io;

    use retry_runtime::{RetryError, retry};

    async fn is_brief(error: &io::Error) -> bool {
        error.kind() == io::ErrorKind::TimedOut
    }

    async fn report(error: RetryError<io::Error>) -> io::Error {
        error.into_error()
    }

    async fn log<E>(_: &retry_runtime::RetryEvent<'_, E>) {}

    #[retry(attempts = 3, retry_on = [when(async |error| is_brief(error).await)])]
    async fn when() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(attempts = 3, retry_on = [when(|error| is_brief(error).await)])]
    async fn when_awaits() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(attempts = 3, map_error = |error: RetryError<io::Error>| async { report(error).await })]
    async fn map_error() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(attempts = 3, retry_after = |_| async { None })]
    async fn retry_after() -> io::Result<u32> {
        Ok(7)
    }

    #[retry(attempts = 3, on_retry = |event| log(event).await)]
    async fn on_retry() -> io::Result<u32> {
        Ok(7)
    }
}

mod cancel_is_no_future {
    use retry_runtime::retry;

    #[retry(cancel = stop)]
    async fn fetch(stop: bool) -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod map_error_by_from {
    use std::io;

    use retry_runtime::retry;

    #[derive(Debug)]
    struct AppError(io::Error);

    impl From<io::Error> for AppError {
        fn from(error: io::Error) -> Self {
            Self(error)
        }
    }

    #[retry(map_error = AppError::from)]
    async fn fetch() -> Result<u32, AppError> {
        Err(AppError(io::Error::other("down")))
    }
}

mod on_retry_async {
    use retry_runtime::{RetryEvent, retry};

    async fn record(text: String) {
        println!("{text}");
    }

    async fn listen(event: &RetryEvent<'_, String>) {
        record(event.to_string()).await;
    }

    #[retry(attempts = 2, on_retry = async |event| println!("{event}"))]
    async fn closure() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(attempts = 2, on_retry = |event| async move { record(event.to_string()).await })]
    async fn block() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(attempts = 2, on_retry = |event| record(event.to_string()))]
    async fn call() -> Result<u32, String> {
        Ok(7)
    }

    #[retry(attempts = 2, on_retry = listen)]
    async fn function() -> Result<u32, String> {
        Ok(7)
    }
}

mod retry_after_of_other_type {
    use retry_runtime::retry;

    #[retry(retry_after = |error| error.len())]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
