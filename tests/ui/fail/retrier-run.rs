mod retrier_run_not_async {
    use retry_runtime::{Policy, Retrier, RetryError};

    fn load() -> Result<u32, std::io::Error> {
        Ok(7)
    }

    async fn loaded() -> Result<u32, RetryError<std::io::Error>> {
        Retrier::new(Policy::new()).run(|| load()).await
    }
}

mod retrier_run_of_a_function_that_is_not_async {
    use retry_runtime::{Policy, Retrier};

    fn load() -> Result<u32, String> {
        Ok(7)
    }

    async fn seven() -> u32 {
        let retrier = Retrier::new(Policy::new());
        retrier.run(|| load()).await.unwrap_or_default()
    }
}

mod retrier_run_of_a_function_with_arguments {
    use retry_runtime::{Policy, Retrier, RetryError};

    async fn fetch(id: u64) -> Result<u64, std::io::Error> {
        Ok(id)
    }

    async fn fetched() -> Result<u64, RetryError<std::io::Error>> {
        Retrier::new(Policy::new()).run(fetch).await
    }
}

mod retrier_run_of_a_future_that_is_not_awaited {
    //! The block of an operation awaits what it calls.
    use std::io;

    use retry_runtime::{Policy, Retrier, RetryError};

    async fn get(id: u64) -> io::Result<u64> {
        Ok(id)
    }

    pub async fn load() -> Result<u64, RetryError<io::Error>> {
        Retrier::new(Policy::new()).run(|| async { get(7) }).await
    }
}

mod retrier_run_sync_of_an_async_function {
    use retry_runtime::{Policy, Retrier, RetryError};

    async fn get(id: u64) -> std::io::Result<u64> {
        Ok(id)
    }

    async fn fetch(retrier: &Retrier) -> Result<u64, RetryError<std::io::Error>> {
        retrier.run_sync(|| get(7))
    }

    fn mistake() {
        let retrier = Retrier::new(Policy::new());
        let _fetching = fetch(&retrier);
        let call = retrier.blocking(async || get(7).await);
    }
}

mod retrier_run_with_without_state {
    use std::io;

    use retry_runtime::{Policy, Retrier};

    async fn get(id: u64) -> io::Result<u64> {
        Ok(id)
    }

    async fn pages() {
        let retrier = Retrier::new(Policy::new());
        let _ = retrier.run_with(Vec::new(), |mut seen: Vec<u64>, _| async move {
            seen.push(1);
            get(1).await
        })
        .await;
    }
}

fn main() {}
