//! The cures in the table of the compiler's messages, in the documentation of `#[retry]`.
#![deny(warnings, clippy::pedantic)]
#![forbid(unsafe_code)]

use std::error::Error;
use std::io;
use std::sync::{Arc, LazyLock};

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Policy, Retrier, RetryError, policy, retry, retrying,
};

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

async fn erasing_caller() -> Result<u32, Box<dyn Error>> {
    let value = boxed().await.map_err(RetryError::erased)?;
    Ok(value + text().await.map_err(RetryError::erased)?)
}

#[retry(attempts = 2, timeout = "1s")]
async fn text() -> Result<u32, RetryError<String>> {
    Ok(7)
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

/// An option may clone the `Arc` in a field, so that the body may change the whole `self`.
struct Counter {
    breaker: Arc<CircuitBreaker>,
    count: u32,
}

impl Counter {
    #[retry(attempts = 2, breaker = self.breaker.clone())]
    async fn next(&mut self) -> Result<u32, RetryError<io::Error>> {
        self.increase();
        Ok(self.count)
    }

    fn increase(&mut self) {
        self.count += 1;
    }
}

static SETTINGS: LazyLock<u32> = LazyLock::new(|| 2);

async fn record(text: String) {
    tokio::task::yield_now().await;
    assert!(text.contains("kind"), "{text}");
}

#[retry(
    attempts = runtime(*SETTINGS),
    initial_delay = "1ms",
    retry_on = [when(|error: &io::Error| error.kind() == io::ErrorKind::TimedOut)],
    on_retry = |event| { tokio::spawn(record(event.to_string())); },
    context = cx,
)]
async fn kind() -> io::Result<u32> {
    if cx.number() == 1 { Err(io::ErrorKind::TimedOut.into()) } else { Ok(7) }
}

async fn send(body: String) -> io::Result<usize> {
    tokio::task::yield_now().await;
    Ok(body.len())
}

async fn closures() -> Result<usize, RetryError<io::Error>> {
    let retrier = Retrier::new(Policy::new().attempts(2));
    let body = "seven".to_owned();
    let sent = retrier
        .run(|| async {
            let sent = send(String::new()).await?;
            Ok::<_, io::Error>(sent)
        })
        .await;
    Ok(sent? + retrier.run(|| send(body.clone())).await?)
}

/// Above `#[tokio::main]`, the function is still async.
#[retry(attempts = 2, timeout = "2s")]
#[tokio::main(flavor = "current_thread")]
async fn above_a_runtime() -> io::Result<u32> {
    Ok(7)
}

const _: fn() -> io::Result<u32> = above_a_runtime;

#[retry(attempts = 2, clone(text))]
async fn converted(text: impl Into<String> + Clone) -> io::Result<usize> {
    let text: String = text.into();
    Ok(text.len())
}

#[retry(attempts = 2)]
async fn copied<T: Copy + Into<u64>>(number: T) -> io::Result<u64> {
    let number: u64 = number.into();
    Ok(number)
}

#[tokio::test]
async fn cures_compile_and_work() {
    assert_eq!(converted("seven").await.unwrap(), 5);
    assert_eq!(copied(7_u32).await.unwrap(), 7);
    assert_eq!(caller().await.unwrap(), 8);
    assert_eq!(erasing_caller().await.unwrap(), 14);
    assert_eq!(outer().await.unwrap(), 7);
    assert_eq!(block::<2>().await.unwrap() + function::<2>().await.unwrap(), 14);
    let breaker = Arc::new(CircuitBreaker::new("cures", BreakerConfig::new()));
    assert_eq!(Counter { breaker, count: 6 }.next().await.unwrap(), 7);
    assert_eq!(kind().await.unwrap(), 7);
    assert_eq!(closures().await.unwrap(), 5);
    let client = Client(Fast);
    assert_eq!(client.own().await.unwrap() + client.of_parameter().await.unwrap(), 14);
}
