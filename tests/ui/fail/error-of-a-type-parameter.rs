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

fn main() {}

// cured 14: by hand
