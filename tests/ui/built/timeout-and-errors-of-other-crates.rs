//! Valid, unless the environment asks for the mistake.
use retry_runtime::{RetryError, retry};

trait Choice<E> {
    type Error;
}

struct Mistaken<const IS: bool>;

impl<E> Choice<E> for Mistaken<true> {
    type Error = E;
}

impl<E> Choice<E> for Mistaken<false> {
    type Error = RetryError<E>;
}

type Error<E> = <Mistaken<{ option_env!("RETRY_TEST_MISTAKE").is_some() }> as Choice<E>>::Error;

#[retry(timeout = "2s")]
async fn page() -> Result<u32, Error<reqwest::Error>> {
    Ok(7)
}

#[retry(deadline = "30s")]
async fn head() -> Result<u32, Error<hyper::Error>> {
    Ok(7)
}

#[retry(timeout = "2s")]
async fn row() -> Result<u32, Error<tokio_postgres::Error>> {
    Ok(7)
}

#[retry(timeout = "2s")]
async fn mail() -> Result<u32, Error<lettre::transport::smtp::Error>> {
    Ok(7)
}

fn main() {
    drop((page(), head(), row(), mail()));
}
