//! The cures in the table of the compiler's messages, in the documentation of `#[retry]`.
#![deny(warnings, clippy::pedantic)]
#![forbid(unsafe_code)]

use std::error::Error;
use std::io;
use std::num::ParseIntError;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, Policy, Retrier, RetryError, policy, retry, retrying,
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

fn cached() -> Result<u32, ParseIntError> {
    "7".parse()
}

#[retry(
    attempts = 2,
    initial_delay = "1ms",
    retry_after = |_: &io::Error| Some(Duration::from_millis(1)),
    classify = |_: &io::Error| Some(Class::NETWORK),
    retry_on = [network],
    on_failure = fallback(|_| cached().map_err(io::Error::other)),
)]
async fn replaced() -> io::Result<u32> {
    Err(io::ErrorKind::NotFound.into())
}

#[derive(Debug)]
struct AppError(io::Error);

impl From<io::Error> for AppError {
    fn from(error: io::Error) -> Self {
        Self(error)
    }
}

#[retry(
    attempts = 2,
    initial_delay = "1ms",
    map_error = |error: RetryError<io::Error>| AppError::from(error.into_error()),
)]
async fn mapped() -> Result<u32, AppError> {
    Err(io::ErrorKind::NotFound.into())
}

/// An error that is made of the call's own error.
#[derive(Debug)]
struct Reported(usize);

impl From<RetryError<Reported>> for Reported {
    fn from(error: RetryError<Reported>) -> Self {
        Self(error.attempts() as usize)
    }
}

#[retry(attempts = 2, initial_delay = "1ms", map_error = Reported::from)]
async fn reported() -> Result<u32, Reported> {
    Err(Reported(0))
}

#[retry(attempts = 2, initial_delay = "1ms", retry_on = [matches(429 | 503)], context = cx)]
async fn status() -> Result<u32, u16> {
    if cx.number() == 1 { Err(503) } else { Ok(7) }
}

async fn spawned(retrier: Retrier) -> io::Result<usize> {
    let sent = tokio::spawn(async move { retrier.run(|| send("seven".to_owned())).await });
    Ok(sent.await??)
}

#[tokio::test]
async fn cures_compile_and_work() {
    assert_eq!(replaced().await.unwrap() + status().await.unwrap(), 14);
    assert_eq!(mapped().await.unwrap_err().0.kind(), io::ErrorKind::NotFound);
    assert_eq!(reported().await.unwrap_err().0, 2);
    let retrier = Retrier::new(Policy::new())
        .when(|error: &io::Error| error.kind().eq(&io::ErrorKind::TimedOut));
    assert_eq!(retrier.run(|| send("seven".to_owned())).await.unwrap(), 5);
    assert_eq!(spawned(Retrier::new(Policy::new())).await.unwrap(), 5);
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
