mod retrying_not_awaited {
    use retry_runtime::retrying;

    async fn get(id: u64) -> Result<u64, String> {
        Ok(id)
    }

    async fn last() -> Result<u64, String> {
        retrying!(name = "get", attempts = 3, async { get(7).await })
    }

    async fn question_mark() -> Result<u64, String> {
        let id = retrying!(name = "get", attempts = 3, async { get(7).await })?;
        Ok(id)
    }
}

mod retrying_of_an_async_function_without_async {
    //! A block that is not async only creates the future.
    use std::io;

    use retry_runtime::retrying;

    async fn get(id: u64) -> io::Result<u64> {
        Ok(id)
    }

    pub async fn fetch() -> io::Result<u64> {
        retrying!(name = "get", attempts = 3, || get(7)).await
    }
}

fn main() {}
