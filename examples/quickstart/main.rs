//! The library in six acts: a small HTTP service on loopback gets into trouble, and annotated
//! functions call it all the same.
//!
//! `cargo run -p quickstart` prints what happens as it happens. Each line comes from the library
//! (`on_retry`, `on_transition`) or from what a call returned; nothing is made up. What goes wrong
//! is scripted in `service.rs`.

use std::fmt::{self, Display};
use std::io;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, Classify, Interrupted, QuotaConfig, RetryError,
    RetryEvent, RetryQuota, classify, retry,
};

mod client;
mod service;

use service::Service;

// ── The functions that call the service ─────────────────────────────────────

/// Act 1. A plain policy: every failure is retried.
#[retry(attempts = 5, initial_delay = "100ms", on_retry = report)]
async fn greeting(api: &Api) -> Result<String, ApiError> {
    api.get("/greeting").await
}

/// Act 2. A list of matchers: only transient failures are retried, and a server that sends
/// `Retry-After` gets the time that it asks for.
#[retry(
    attempts = 4,
    initial_delay = "100ms",
    retry_on = [network, timeout, server_error, rate_limit],
    on_retry = report,
)]
async fn document(api: &Api, path: &str) -> Result<String, RetryError<ApiError>> {
    api.get(path).await
}

/// Act 3. A timeout for each attempt.
#[retry(initial_delay = "50ms", timeout = "500ms", on_retry = report)]
async fn forecast(api: &Api) -> Result<String, ApiError> {
    api.get("/forecast").await
}

/// Act 4. A breaker that all callers of the shop share.
static SHOP: CircuitBreaker = CircuitBreaker::new(
    "shop",
    BreakerConfig::new()
        .failure_threshold(3)
        .timeout(Duration::from_millis(500))
        .success_threshold(2),
);

#[retry(
    attempts = 5,
    initial_delay = "50ms",
    retry_on = [network, server_error],
    breaker = SHOP,
    on_retry = report,
)]
async fn order(api: &Api) -> Result<String, RetryError<ApiError>> {
    api.get("/order").await
}

/// Act 5. A quota: 12 tokens for the retries of all calls, at 5 tokens each.
static RETRIES: RetryQuota = RetryQuota::new("retries", QuotaConfig::new().capacity(12));

#[retry(initial_delay = "50ms", quota = RETRIES, on_retry = report)]
async fn stock(api: &Api) -> Result<String, RetryError<ApiError>> {
    api.get("/down").await
}

/// Act 6. A fallback: the caller gets an answer in any case.
#[retry(
    attempts = 2,
    initial_delay = "50ms",
    on_failure = fallback(|error| yesterdays_price(item, &error)),
    on_retry = report,
)]
async fn price(api: &Api, item: &str) -> Result<String, ApiError> {
    api.get("/down").await
}

fn yesterdays_price(item: &str, error: &RetryError<ApiError>) -> String {
    say(format_args!("{error:#}"));
    format!("yesterday's price of {item}")
}

// ── The play ────────────────────────────────────────────────────────────────

#[tokio::main]
async fn main() -> io::Result<()> {
    let service = Service::reserve()?;
    let api = Api { address: service.address() };
    LazyLock::force(&CURTAIN);

    act("1. A plain policy", "the service is still starting, and refuses connections");
    service.start_after(Duration::from_millis(250));
    call("greeting()", greeting(&api)).await;

    act("2. Matchers", "503, then 429 with Retry-After, then an answer; and a page that is gone");
    call("document(\"/busy\")", document(&api, "/busy")).await;
    call("document(\"/gone\")", document(&api, "/gone")).await;

    act("3. A timeout", "the first request gets no answer at all");
    call("forecast()", forecast(&api)).await;

    act("4. A circuit breaker", "three failures open it; two successful probes close it");
    SHOP.on_transition(|transition| say(format_args!("* {transition}")));
    call("order()", order(&api)).await;
    call("order()", order(&api)).await;
    pause(SHOP.remaining()).await;
    call("order()", order(&api)).await;
    call("order()", order(&api)).await;

    act("5. A quota", "the service stays down, and retries are paid for until the bucket is empty");
    for _ in 0..2 {
        say(format_args!("{} tokens in the bucket", RETRIES.available()));
        call("stock()", stock(&api)).await;
    }

    act("6. A fallback", "it is still down, and the caller gets an answer all the same");
    call("price(\"tea\")", price(&api, "tea")).await;

    println!();
    say(format_args!("the end"));
    Ok(())
}

// ── What is printed ─────────────────────────────────────────────────────────

static CURTAIN: LazyLock<Instant> = LazyLock::new(Instant::now);

fn act(title: &str, story: &str) {
    println!("\n{title}: {story}");
}

fn say(words: impl Display) {
    println!("{:6.2}s    {words}", CURTAIN.elapsed().as_secs_f64());
}

/// Prints what the library reports before it waits.
fn report(event: &RetryEvent<'_, ApiError>) {
    let (attempt, attempts, wait) = (event.attempt(), event.attempts(), event.wait());
    match event.error() {
        Some(error) => {
            say(format_args!("attempt {attempt} of {attempts}: {error}; next in {wait:?}"));
        }
        None => say(format_args!("attempt {attempt} of {attempts}: cut off; next in {wait:?}")),
    }
}

/// Makes a call, and prints how it ended.
async fn call<E: Display>(name: &str, call: impl Future<Output = Result<String, E>>) {
    println!("{:6.2}s  {name}", CURTAIN.elapsed().as_secs_f64());
    match call.await {
        Ok(answer) => say(format_args!("ok: {answer}")),
        Err(error) => say(format_args!("error: {error:#}")),
    }
}

async fn pause(time: Duration) {
    say(format_args!("(nobody calls for {:.1}s)", time.as_secs_f64()));
    tokio::time::sleep(time).await;
}

// ── The client and its error ────────────────────────────────────────────────

struct Api {
    address: SocketAddr,
}

impl Api {
    async fn get(&self, path: &str) -> Result<String, ApiError> {
        let response = client::get(self.address, path).await?;
        match response.code {
            200 => Ok(response.body),
            code => {
                let (status, retry_after) = (response.status, response.retry_after);
                Err(ApiError::Status { code, status, retry_after })
            }
        }
    }
}

#[derive(Debug)]
enum ApiError {
    Transport(io::Error),
    Status { code: u16, status: String, retry_after: Option<Duration> },
    Interrupted(Interrupted),
}

/// The class of the failure, for `retry_on`, and how long the server asked to wait.
impl Classify for ApiError {
    fn class(&self) -> Class {
        match self {
            Self::Transport(error) => classify::error(error),
            Self::Status { code, .. } => classify::status(*code),
            Self::Interrupted(interrupted) => classify::error(interrupted),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transport(error) => error.fmt(f),
            Self::Status { status, retry_after: Some(wait), .. } => {
                write!(f, "{status}, asks for {wait:?}")
            }
            Self::Status { status, .. } => f.write_str(status),
            Self::Interrupted(interrupted) => interrupted.fmt(f),
        }
    }
}

impl From<io::Error> for ApiError {
    fn from(error: io::Error) -> Self {
        Self::Transport(error)
    }
}

/// An attempt that the policy cut off has no error of its own; this represents it.
impl From<Interrupted> for ApiError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}
