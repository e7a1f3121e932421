//! `Retry-After` through the attribute and through `Retrier`, on virtual time.
#![allow(missing_docs, reason = "tests")]

mod support;

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Response, StatusCode};
use retry_runtime::http::{StatusError, check};
use retry_runtime::matchers::{rate_limit, server_error};
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, Classify, Interrupted, Policy, Reason, Retrier,
    RetryError, RetryEvent, classify, retry,
};
use tokio::time::Instant;

type BoxError = Box<dyn Error + Send + Sync>;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A server: each answer is a status and, in pairs, its headers.
struct Script(Vec<(u16, &'static [(&'static str, &'static str)])>, AtomicUsize);

impl Script {
    fn new(answers: &[(u16, &'static [(&'static str, &'static str)])]) -> Self {
        Self(answers.to_vec(), AtomicUsize::new(0))
    }

    fn answer(&self) -> Response<&'static str> {
        let number = self.1.fetch_add(1, Ordering::Relaxed);
        let (status, headers) = self.0.get(number).copied().unwrap_or((200, &[]));
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        response.body("body").unwrap()
    }

    fn calls(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

fn busy_then_limited() -> Script {
    Script::new(&[
        (503, &[("Retry-After", "7")]),
        (
            429,
            &[
                ("Date", "Fri, 31 Dec 1999 23:59:00 GMT"),
                ("Retry-After", "Fri, 31 Dec 1999 23:59:50 GMT"),
            ],
        ),
    ])
}

#[retry(attempts = 4, initial_delay = "10ms", retry_on = [server_error, rate_limit])]
async fn page(script: &Script) -> Result<&'static str, StatusError> {
    check(script.answer()).map(Response::into_body)
}

#[tokio::test(start_paused = true)]
async fn each_wait_follows_retry_after() {
    let (script, start) = (busy_then_limited(), Instant::now());
    assert_eq!(page(&script).await, Ok("body"));
    // The second, a date of 1999, is a wait: what counts is the clock of the server. It is
    // longer than `max_delay`, to which a server's word is not cut.
    assert_eq!(start.elapsed(), secs(7 + 50));
}

#[tokio::test(start_paused = true)]
async fn without_a_retry_after_the_backoff_applies() {
    let (script, start) =
        (Script::new(&[(503, &[]), (503, &[("Retry-After", "soon")])]), Instant::now());
    assert_eq!(page(&script).await, Ok("body"));
    assert_eq!(start.elapsed(), Duration::from_millis(10 + 20));
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_zero_and_a_date_that_has_passed_leave_the_curve() {
    let script = Script::new(&[
        (503, &[("Retry-After", "0")]),
        (503, &[("Retry-After", "Fri, 31 Dec 1999 23:59:50 GMT")]),
        (429, &[("Retry-After", "0"), ("X-RateLimit-Reset-After", "5")]),
    ]);
    let start = Instant::now();
    assert_eq!(page(&script).await, Ok("body"));
    assert_eq!(start.elapsed(), Duration::from_millis(10 + 20 + 5_000));
}

#[tokio::test(start_paused = true)]
async fn a_timestamp_is_not_a_number_of_seconds() {
    const DATE: (&str, &str) = ("Date", "Wed, 01 Jan 2025 00:00:00 GMT");

    // The second is the same point in milliseconds.
    let script = Script::new(&[
        (503, &[DATE, ("Retry-After", "1735689630")]),
        (429, &[DATE, ("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1735689630000")]),
    ]);
    let start = Instant::now();
    assert_eq!(page(&script).await, Ok("body"));
    assert_eq!(start.elapsed(), secs(60));
}

#[tokio::test(start_paused = true)]
async fn failures_that_no_matcher_names_are_not_retried() {
    let script = Script::new(&[(404, &[("Retry-After", "1")])]);
    let error = page(&script).await.unwrap_err();
    assert_eq!(error, StatusError::new(StatusCode::NOT_FOUND, Some(secs(1))));
    assert_eq!(script.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_extreme_wait_does_not_overflow() {
    #[retry(attempts = 3, budget = budget, max_retry_after = unlimited, retry_on = [server_error])]
    async fn patient(
        script: &Script,
        budget: Option<Duration>,
    ) -> Result<(), RetryError<StatusError>> {
        check(script.answer()).map(drop)
    }
    let for_ever = &[("Retry-After", "99999999999999999999999999")];
    let script = Script::new(&[(503, for_ever)]);
    let error = patient(&script, Some(secs(300))).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Budget, 1));
    assert_eq!(error.last().unwrap().retry_after(), Some(secs(u64::MAX)));

    let script = Script::new(&[(503, for_ever)]);
    let waits = tokio::time::timeout(secs(1_000_000), patient(&script, None)).await;
    assert!(waits.is_err());
    assert_eq!(script.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_more_than_an_hour_ends_the_call_and_is_in_its_error() {
    #[retry(retry_on = [transient])]
    async fn any(script: &Script) -> Result<(), RetryError<anyhow::Error>> {
        Ok(check(script.answer()).map(drop)?)
    }
    let day = &[("Retry-After", "86400")];
    let (script, start) = (Script::new(&[(429, day)]), Instant::now());
    let error = any(&script).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::RetryAfter, 1));
    assert_eq!(error.retry_after(), Some(secs(86_400)));
    assert_eq!(classify::retry_after(error.last().unwrap().as_ref()), Some(secs(86_400)));
    assert_eq!((script.calls(), start.elapsed()), (1, Duration::ZERO));
    let hour = &[("Retry-After", "3600")];
    assert!(any(&Script::new(&[(429, hour)])).await.is_ok());
    assert_eq!(start.elapsed(), secs(3_600));
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_found_behind_an_error_that_holds_anything() {
    #[retry(attempts = 3, retry_on = [server_error, rate_limit])]
    async fn any(script: &Script) -> anyhow::Result<&'static str> {
        Ok(check(script.answer())?.into_body())
    }
    #[retry(attempts = 3)]
    async fn boxed(script: &Script) -> Result<&'static str, BoxError> {
        Ok(check(script.answer())?.into_body())
    }
    let start = Instant::now();
    assert_eq!(any(&busy_then_limited()).await.unwrap(), "body");
    assert_eq!(start.elapsed(), secs(57));
    assert_eq!(boxed(&busy_then_limited()).await.unwrap(), "body");
    assert_eq!(start.elapsed(), secs(2 * 57));
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_found_behind_an_error_of_ones_own() {
    /// It says nothing itself; what it wraps does.
    #[derive(Debug)]
    struct Wrapped(StatusError);

    impl std::fmt::Display for Wrapped {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the shop does not answer")
        }
    }

    impl Error for Wrapped {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[retry(attempts = 3, retry_on = [server_error, rate_limit])]
    async fn wrapped(script: &Script) -> Result<&'static str, Wrapped> {
        check(script.answer()).map(Response::into_body).map_err(Wrapped)
    }
    let start = Instant::now();
    assert_eq!(wrapped(&busy_then_limited()).await.unwrap(), "body");
    assert_eq!(start.elapsed(), secs(57));
}

#[tokio::test(start_paused = true)]
async fn an_enum_of_ones_own_hands_the_question_on() {
    #[derive(Debug)]
    enum ApiError {
        Status(StatusError),
        Interrupted(Interrupted),
    }

    impl From<StatusError> for ApiError {
        fn from(error: StatusError) -> Self {
            Self::Status(error)
        }
    }

    impl From<Interrupted> for ApiError {
        fn from(interrupted: Interrupted) -> Self {
            Self::Interrupted(interrupted)
        }
    }

    impl fmt::Display for ApiError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Status(error) => error.fmt(f),
                Self::Interrupted(interrupted) => interrupted.fmt(f),
            }
        }
    }

    impl Classify for ApiError {
        fn class(&self) -> Class {
            match self {
                Self::Status(error) => error.class(),
                Self::Interrupted(interrupted) => classify::error(interrupted),
            }
        }

        fn retry_after(&self) -> Option<Duration> {
            match self {
                Self::Status(error) => error.retry_after(),
                Self::Interrupted(_) => None,
            }
        }
    }

    #[retry(attempts = 3, timeout = "1s", retry_on = [server_error, rate_limit, timeout])]
    async fn own(script: &Script) -> Result<&'static str, ApiError> {
        Ok(check(script.answer())?.into_body())
    }
    let start = Instant::now();
    assert_eq!(own(&busy_then_limited()).await.unwrap(), "body");
    assert_eq!(start.elapsed(), secs(57));
}

#[tokio::test(start_paused = true)]
async fn the_option_overrides_the_wait_of_the_error() {
    #[retry(
        attempts = 3,
        retry_on = [server_error, rate_limit],
        retry_after = |error: &StatusError| error.retry_after().map(|wait| wait.min(secs(20))),
    )]
    async fn short(script: &Script) -> Result<&'static str, StatusError> {
        check(script.answer()).map(Response::into_body)
    }
    let start = Instant::now();
    assert_eq!(short(&busy_then_limited()).await.unwrap(), "body");
    assert_eq!(start.elapsed(), secs(27));
}

#[tokio::test(start_paused = true)]
async fn a_retrier_finds_it_too() {
    let retrier = Retrier::new(Policy::new()).retry_on([server_error, rate_limit]);
    let (script, start) = (busy_then_limited(), Instant::now());
    let body = retrier.run(|| async { check(script.answer()).map(Response::into_body) }).await;
    assert_eq!(body, Ok("body"));
    assert_eq!(start.elapsed(), secs(57));
}

#[tokio::test(start_paused = true)]
async fn responses_of_reqwest_are_checked_too() {
    #[retry(attempts = 3, retry_on = [network, server_error, rate_limit])]
    async fn get(script: &Script) -> Result<String, BoxError> {
        let response = check(reqwest::Response::from(script.answer()))?;
        Ok(response.text().await?)
    }
    let start = Instant::now();
    assert_eq!(get(&busy_then_limited()).await.unwrap(), "body");
    assert_eq!(start.elapsed(), secs(57));
    let gone = Script::new(&[(404, &[])]);
    assert_eq!(get(&gone).await.unwrap_err().to_string(), "404 Not Found at /");
    assert_eq!(gone.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn retry_after_of_a_real_server_is_obeyed() {
    fn told(event: &RetryEvent<'_, BoxError>) {
        assert_eq!(event.error().unwrap().to_string(), "503 Service Unavailable at /, asks for 3s");
    }

    #[retry(attempts = 3, retry_on = [server_error], on_retry = told)]
    async fn get(client: &reqwest::Client, url: &str) -> Result<String, BoxError> {
        let response = check(client.get(url).body("tea").send().await?)?;
        Ok(response.text().await?)
    }

    let (address, log) = support::serve([(503, Some("3"))]).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    assert_eq!(get(&client, &format!("http://{address}/")).await.unwrap(), "answer 2");
    assert_eq!(log.gaps(), [secs(3)]);
    assert_eq!(log.bodies(), ["tea", "tea"]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_response_is_a_network_failure() {
    #[retry(attempts = 2, retry_on = [network])]
    async fn get(url: &str) -> Result<(), RetryError<BoxError>> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        check(client.get(url).send().await?)?;
        Ok(())
    }
    let url = format!("http://{}/", support::NOWHERE);
    let error = get(&url).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 2));
}

#[tokio::test(start_paused = true)]
async fn a_status_code_stands_for_the_interruption_of_a_call() {
    static SHOP: CircuitBreaker =
        CircuitBreaker::new("status codes", BreakerConfig::new().failure_threshold(1));

    #[retry(attempts = 2, timeout = "2s", breaker = SHOP, retry_on = [timeout])]
    async fn handler() -> Result<(), StatusCode> {
        std::future::pending().await
    }

    assert_eq!(handler().await, Err(StatusCode::GATEWAY_TIMEOUT));
    assert_eq!(handler().await, Err(StatusCode::SERVICE_UNAVAILABLE));
}
