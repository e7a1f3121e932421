//! The cures in the table of the compiler's messages, in the documentation of `#[retry]`.
#![deny(warnings, clippy::pedantic)]
#![forbid(unsafe_code)]

use std::error::Error;
use std::io;

use retry_runtime::{Policy, RetryError, policy, retry, retrying};

type Boxed = Box<dyn Error + Send + Sync>;

/// A box is not an `Error`, as `anyhow::Error` is not.
#[retry(attempts = 2, retry_on = [transient])]
async fn boxed() -> Result<u32, RetryError<Boxed>> {
    Ok(7)
}

async fn caller() -> Result<u32, Boxed> {
    let value = boxed().await.map_err(RetryError::into_error)?;
    Ok(value + 1)
}

#[retry(attempts = 2)]
async fn inner() -> Result<u32, RetryError<io::Error>> {
    Ok(7)
}

#[retry(attempts = 2)]
async fn outer() -> Result<u32, RetryError<io::Error>> {
    inner().await.map_err(RetryError::into_error)
}

async fn block<const N: u32>() -> io::Result<u32> {
    retrying!(name = "block", attempts = runtime(N), async { Ok::<_, io::Error>(7) }).await
}

#[retry(attempts = N)]
async fn function<const N: u32>() -> io::Result<u32> {
    Ok(7)
}

trait HasPolicy {
    const POLICY: Policy;
}

struct Client<T>(T);

impl<T: HasPolicy> Client<T> {
    const OWN: Policy = policy!(attempts = 2);

    #[retry(policy = runtime(Self::OWN))]
    async fn own(&self) -> io::Result<u32> {
        Ok(7)
    }

    #[retry(policy = runtime(T::POLICY))]
    async fn of_parameter(&self) -> io::Result<u32> {
        Ok(7)
    }
}

struct Fast;

impl HasPolicy for Fast {
    const POLICY: Policy = policy!(attempts = 3);
}

#[tokio::test]
async fn cures_compile_and_work() {
    assert_eq!(caller().await.unwrap(), 8);
    assert_eq!(outer().await.unwrap(), 7);
    assert_eq!(block::<2>().await.unwrap() + function::<2>().await.unwrap(), 14);
    let client = Client(Fast);
    assert_eq!(client.own().await.unwrap() + client.of_parameter().await.unwrap(), 14);
}
