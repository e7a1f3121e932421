//! Every option, with literals and with `const` expressions.
#![deny(warnings, clippy::pedantic)]
#![forbid(unsafe_code)]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Interrupted, Missing, Policy, QuotaConfig, RetryError,
    RetryEvent, RetryQuota, policy, retry,
};

#[derive(Debug)]
#[allow(dead_code)]
enum ApiError {
    Busy { seconds: u64 },
    Corrupt,
    Interrupted(Interrupted),
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for ApiError {}

impl From<Interrupted> for ApiError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Interrupted(interrupted)
    }
}

impl ApiError {
    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { seconds } => Some(Duration::from_secs(*seconds)),
            Self::Corrupt | Self::Interrupted(_) => None,
        }
    }
}

fn is_transient(error: &ApiError) -> bool {
    matches!(error, ApiError::Busy { .. })
}

fn log<E>(event: &RetryEvent<'_, E>) {
    assert!(event.attempt() > 0);
}

fn cached(_: RetryError<ApiError>) -> u32 {
    5
}

async fn cached_later(_: RetryError<ApiError>) -> Result<u32, ApiError> {
    Ok(5)
}

const ATTEMPTS: u32 = 4;
const SECOND: Duration = Duration::from_secs(1);
const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

const FACTOR: f64 = 0.5;
const HTTP: Policy = policy!(
    attempts = ATTEMPTS + 1,
    backoff = exponential(base = 1.0 + FACTOR),
    jitter,
    budget = "5m",
);
static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
static LAZY: LazyLock<CircuitBreaker> =
    LazyLock::new(|| CircuitBreaker::new("lazy", BreakerConfig::new()));
static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());

mod limits {
    pub const ATTEMPTS: u32 = 3;

    pub const fn doubled(n: u32) -> u32 {
        n * 2
    }
}

#[retry(
    attempts = 5,
    backoff = exponential(base = 2.0),
    initial_delay = "1s",
    max_delay = "30s",
    jitter,
    budget = "5m",
    deadline = "30s",
    max_retry_after = "10m",
    timeout = "2s",
    retry_on = [
        network, timeout, server_error, rate_limit,
        pattern("(?i)database is locked"),
        matches(ApiError::Busy { seconds } if *seconds < 60),
        when(is_transient),
        ok(|value: &u32| *value == 0),
    ],
    abort_on = [matches(ApiError::Corrupt)],
    retry_after = |e: &ApiError| e.retry_after(),
    wait_by = |_, _: &ApiError, wait| std::ops::ControlFlow::Continue(wait),
    breaker = DB,
    quota = OUTBOUND,
    on_failure = fallback(cached),
    on_retry = log,
    history = 5,
    log = info,
    name = "billing.fetch",
    clone(body),
    context = cx,
)]
async fn all(body: Vec<u32>) -> Result<u32, ApiError> {
    assert!(!cx.is_last() && cx.last_delay().is_none() && cx.waited().is_zero());
    Ok(body.into_iter().sum())
}

#[retry(attempts = ATTEMPTS, initial_delay = Duration::from_millis(500), max_delay = seconds(20), jitter = FACTOR / 2.0, budget = seconds(60))]
async fn by_constants() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(attempts = limits::doubled(limits::ATTEMPTS), backoff = linear(increment = Duration::from_millis(500)))]
fn by_paths() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(attempts = if cfg!(debug_assertions) { 2 } else { 5 }, backoff = exponential(base = 2))]
fn by_block() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(attempts = unlimited, deadline = seconds(30), max_retry_after = seconds(20), backoff = fibonacci)]
async fn unlimited() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(attempts = 4, backoff = custom("500ms", SECOND, "2s"))]
fn custom() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(jitter = decorrelated)]
async fn decorrelated() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(jitter = up(SHARE))]
async fn up() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(jitter = "0ms..250ms")]
async fn added() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(jitter = "..=1s", max_delay = unlimited)]
fn added_from_zero() -> Result<u32, ApiError> {
    Ok(7)
}

const SHARE: f64 = 0.25;

#[retry(backoff = fixed, jitter = full)]
async fn full() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(jitter = none, backoff = fixed, initial_delay = "0s")]
fn none() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(policy = HTTP, attempts = 2, jitter = equal, timeout = "2s")]
async fn overridden() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(policy = policy!(attempts = 2), deadline = "5s")]
fn in_place() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(breaker(failure_threshold = 8, failure_rate = 0.5, window_calls = 50, minimum_calls = 20, slow_call = "2s", slow_rate = FACTOR, timeout = seconds(30), timeout_growth = 2.0, max_timeout = "2m", timeout_jitter = 0.2))]
async fn breaker_in_place() -> Result<u32, ApiError> {
    Ok(7)
}

struct Client {
    breaker: Arc<CircuitBreaker>,
    quota: Arc<RetryQuota>,
}

impl Client {
    #[retry(breaker = self.breaker, quota = self.quota)]
    async fn fetch(&self) -> Result<u32, ApiError> {
        Ok(7)
    }

    #[retry(breaker = self.breaker, quota = self.quota)]
    fn fetch_now(&self) -> Result<u32, ApiError> {
        Ok(7)
    }
}

#[retry(breaker = *LAZY)]
async fn lazy() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(on_failure = continue)]
async fn continued() -> Result<Vec<u32>, ApiError> {
    Ok(vec![7])
}

#[retry(on_failure = stop)]
async fn stopped() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(on_failure = fallback(cached_later))]
async fn later() -> Result<u32, ApiError> {
    Ok(7)
}

fn of_any<E>(error: RetryError<E>) -> u32 {
    u32::from(error.into_last().is_some())
}

#[retry(on_failure = fallback(of_any))]
async fn of_any_error() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(on_failure = fallback(of_any::<ApiError>))]
fn of_one_error() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(on_failure = fallback(Err))]
async fn as_error() -> Result<u32, RetryError<ApiError>> {
    Ok(7)
}

#[retry(on_failure = fallback(Text::from))]
async fn converted() -> Result<Text, ApiError> {
    Ok(Text(String::new()))
}

struct Text(String);

impl From<RetryError<ApiError>> for Text {
    fn from(error: RetryError<ApiError>) -> Self {
        Self(error.to_string())
    }
}

#[retry(on_failure = fallback(otherwise))]
async fn by_argument(otherwise: impl Fn(RetryError<ApiError>) -> u32) -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(on_failure = fallback(otherwise))]
async fn by_object(otherwise: &dyn Fn(RetryError<ApiError>) -> u32) -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(on_failure = fallback(|error| async move { let id = u64::from(error.attempts()); Some(id + id_of(name)) }))]
async fn with_arguments(name: &str) -> Option<u64> {
    Some(id_of(name))
}

fn id_of(name: &str) -> u64 {
    name.len() as u64
}

#[retry(retry_on = [when(|_: &Missing| true)])]
async fn option() -> Option<u32> {
    Some(7)
}

#[retry(retry_on = [ok(|value| *value < 0)])]
async fn plain() -> i32 {
    7
}

#[retry(retry_on = [ok(|()| false)])]
async fn nothing() {}

#[retry(retry_on = [ok(|value| *value < 0)], on_failure = continue)]
fn plain_sync() -> i32 {
    7
}

#[retry(retry_on = [network, ok(|value| *value == 0)], timeout = "2s", on_failure = fallback(|error| if error.last().is_some() { 1 } else { 2 }))]
async fn with_reason() -> Result<u32, RetryError<std::num::ParseIntError>> {
    let number = "7".parse::<u32>()?;
    Ok(number)
}

#[retry(attempts = 1, breaker = DB, retry_after = |e: &ApiError| e.retry_after())]
async fn may_hold_without_retries() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(
    attempts = 1,
    max_retry_after = "10m",
    breaker(hold = "30m"),
    when_open = wait,
    retry_after = |e: &ApiError| e.retry_after(),
)]
async fn holds_without_retries() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(attempts = 1, timeout = "2s")]
async fn only_a_timeout() -> Result<u32, ApiError> {
    Ok(7)
}

fn in_a_box<E>(error: RetryError<E>) -> Boxed
where
    E: Into<Boxed>,
{
    error.boxed()
}

type Boxed = Box<dyn std::error::Error + Send + Sync>;

#[retry(map_error = in_a_box)]
async fn mapped_by_a_generic_function() -> Result<u32, Boxed> {
    Ok("7".parse()?)
}

#[retry(map_error = RetryError::into_error, timeout = "1s")]
async fn mapped_by_a_method() -> Result<u32, ApiError> {
    Ok(7)
}

#[retry(map_error = RetryError::into_error)]
fn mapped_behind_an_alias() -> std::io::Result<u32> {
    Ok(7)
}

#[retry(map_error = map)]
async fn mapped_by_an_argument<E>(
    map: impl FnOnce(RetryError<E>) -> E + Copy,
    fetch: impl Fn() -> Result<u32, E>,
) -> Result<u32, E> {
    fetch()
}

#[retry(map_error = map)]
fn mapped_now<E>(
    map: fn(RetryError<E>) -> E,
    fetch: &dyn Fn() -> Result<u32, E>,
) -> Result<u32, E> {
    fetch()
}

fn last_of<E: From<Interrupted>>(error: RetryError<E>) -> E {
    error.into_error()
}

#[retry(docs = false)]
fn without_docs() -> Result<u32, ApiError> {
    Ok(7)
}

/// Options that a generic function adds to its policy are checked where code is generated;
/// `../codegen` has a mistake of that kind.
const LATE: Policy = policy!(attempts = 5, initial_delay = "10s");

struct Generic<const ATTEMPTS: u32>;

impl<const ATTEMPTS: u32> Generic<ATTEMPTS> {
    const LONGEST: Duration = Duration::from_secs(15);

    #[retry(policy = LATE, max_delay = Self::LONGEST)]
    async fn fetch(&self) -> Result<u32, ApiError> {
        Ok(ATTEMPTS)
    }
}

const NAMED: &CircuitBreaker = &DB;

struct Settings {
    attempts: u32,
    waits: [Duration; 2],
    policy: Policy,
}

impl Settings {
    const DEFAULT: Self = Self {
        attempts: 2,
        waits: [Duration::from_millis(1), Duration::from_millis(2)],
        policy: Policy::new(),
    };

    const fn longest(&self) -> Duration {
        self.waits[1]
    }
}

const SETTINGS: &Settings = &Settings::DEFAULT;
static KEPT: Settings = Settings::DEFAULT;
static READ: LazyLock<Policy> = LazyLock::new(Policy::new);

const OF_FIELDS: Policy = policy!(
    attempts = KEPT.attempts + 1,
    backoff = custom(Settings::DEFAULT.waits[0], Settings::DEFAULT.longest())
);

struct Shared<T>(T);

impl<T: Sync> Shared<T> {
    const BREAKER: &'static CircuitBreaker = &DB;

    #[retry(policy = SETTINGS.policy, attempts = SETTINGS.attempts, breaker = Self::BREAKER)]
    async fn by_constant(&self) -> Result<u32, ApiError> {
        let _ = &self.0;
        Ok(7)
    }

    #[retry(policy = OF_FIELDS, breaker = NAMED)]
    async fn by_name(&self) -> Result<u32, ApiError> {
        let _ = &self.0;
        Ok(7)
    }

    #[retry(policy = runtime(READ), breaker = NAMED)]
    fn by_lazy_policy(&self) -> Result<u32, ApiError> {
        let _ = &self.0;
        Ok(7)
    }
}

#[test]
fn works() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(run()).unwrap();
}

async fn run() -> Result<(), ApiError> {
    assert_eq!(Generic::<3>.fetch().await?, 3);
    assert_eq!(Shared(()).by_constant().await? + Shared(()).by_name().await?, 14);
    assert_eq!(Shared(()).by_lazy_policy()?, 7);
    assert_eq!(all(vec![3, 4]).await?, 7);
    assert_eq!(by_constants().await? + by_paths()? + by_block()? + unlimited().await?, 28);
    assert_eq!(custom()? + decorrelated().await? + full().await? + none()?, 28);
    assert_eq!(up().await? + added().await? + added_from_zero()?, 21);
    assert_eq!(overridden().await? + in_place()? + breaker_in_place().await?, 21);
    let client = Client {
        breaker: Arc::new(CircuitBreaker::new("client", BreakerConfig::new())),
        quota: Arc::new(RetryQuota::new("client", QuotaConfig::new())),
    };
    assert_eq!(client.fetch().await? + client.fetch_now()? + lazy().await?, 21);
    assert_eq!(continued().await?, [7]);
    assert_eq!(stopped().await? + later().await?, 14);
    assert_eq!(of_any_error().await? + of_one_error()?, 14);
    assert_eq!(
        as_error().await.unwrap() + by_argument(of_any).await? + by_object(&of_any).await?,
        21
    );
    assert_eq!(converted().await?.0, "");
    assert_eq!(with_arguments("abc").await, Some(3));
    assert_eq!(option().await, Some(7));
    assert_eq!(plain().await + plain_sync(), 14);
    nothing().await;
    assert_eq!(with_reason().await.unwrap(), 7);
    assert_eq!(only_a_timeout().await? + without_docs()?, 14);
    assert_eq!(mapped_by_a_method().await? + mapped_by_a_generic_function().await.unwrap(), 14);
    assert_eq!(mapped_by_an_argument(last_of, || Ok::<_, ApiError>(7)).await?, 7);
    assert_eq!(mapped_now(last_of, &|| Ok::<_, ApiError>(7))?, 7);
    assert_eq!(mapped_behind_an_alias().unwrap(), 7);
    assert_eq!(may_hold_without_retries().await? + holds_without_retries().await?, 14);
    Ok(())
}

static FIRST: CircuitBreaker = CircuitBreaker::new("options.first", BreakerConfig::new());
static OTHER: CircuitBreaker = CircuitBreaker::new("options.other", BreakerConfig::new());

fn breaker_of(is_first: bool) -> &'static CircuitBreaker {
    if is_first { &FIRST } else { &OTHER }
}

/// `==` and `=>` are no settings of a breaker.
#[retry(breaker = breaker_of(id == 1))]
async fn breaker_by_comparison(id: u32) -> Result<u32, ApiError> {
    Ok(id)
}

#[retry(breaker = match id { 1 => &FIRST, _ => &OTHER })]
async fn breaker_by_match(id: u32) -> Result<u32, ApiError> {
    Ok(id)
}

#[tokio::test]
async fn expressions_choose_a_breaker() {
    assert_eq!(breaker_by_comparison(1).await.unwrap(), 1);
    assert_eq!(breaker_by_match(2).await.unwrap(), 2);
}
