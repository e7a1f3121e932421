//! Waits that only the text of an error states.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use retry_runtime::durable::{AskedWait, CallState, Decision, Failed};
use retry_runtime::http::StatusError;
use retry_runtime::matchers::{rate_limit, transient};
use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, Classify, Policy, QuotaConfig, Reason, Retrier,
    RetryConfig, RetryError, RetryQuota, classify, policy, retry, retrying,
};
use tower::{Service as _, ServiceExt as _};

use crate::support::{Calls, millis, secs};

const BUSY: &str = "429 Too Many Requests: try again in 8s";
const HASTY: &str = "503 Service Unavailable: retry in 10 ms";
const CURVE: Policy = policy!(attempts = 3, initial_delay = "1s");

/// The text of an error that a function returns.
fn fails(calls: &Calls, text: &str) -> Result<(), String> {
    calls.make();
    Err(text.to_owned())
}

#[retry(policy = CURVE)]
async fn bare(calls: &Calls, text: &str) -> Result<(), String> {
    fails(calls, text)
}

#[retry(policy = CURVE, retry_on = [transient])]
async fn listed(calls: &Calls, text: &str) -> Result<(), String> {
    fails(calls, text)
}

#[retry(policy = CURVE, abort_on = [conflict])]
async fn aborted(calls: &Calls, text: &str) -> Result<(), RetryError<String>> {
    fails(calls, text)
}

#[retry(policy = CURVE, history = 2)]
async fn remembered(calls: &Calls, text: &str) -> Result<(), RetryError<String>> {
    fails(calls, text)
}

#[retry(policy = CURVE, uncounted = [conflict], deadline = "1h")]
async fn postponed(calls: &Calls, text: &str) -> Result<(), RetryError<String>> {
    fails(calls, text)
}

#[retry(policy = CURVE, quota = quota)]
async fn charged(quota: &RetryQuota, calls: &Calls, text: &str) -> Result<(), String> {
    fails(calls, text)
}

#[retry(policy = CURVE, breaker(failure_threshold = 9))]
async fn guarded(calls: &Calls, text: &str) -> Result<(), RetryError<String>> {
    fails(calls, text)
}

#[retry(policy = CURVE, hedge = "1h", retry_on = [transient])]
async fn hedged(calls: &Calls, text: &str) -> Result<(), String> {
    fails(calls, text)
}

#[retry(policy = config)]
async fn configured(config: &RetryConfig, calls: &Calls, text: &str) -> Result<(), String> {
    fails(calls, text)
}

#[retry(policy = CURVE, retry_on = [when(|error: &String| error.len() > 3)])]
async fn unread(calls: &Calls, text: &str) -> Result<(), String> {
    fails(calls, text)
}

fn config(text: &str) -> RetryConfig {
    serde_json::from_str(text).unwrap()
}

/// The waits of a call by each door at which the class is read.
async fn waits_at_all_doors(text: &'static str) -> Vec<Vec<Duration>> {
    let all: [Calls; 12] = Default::default();
    let quota = RetryQuota::new("texts", QuotaConfig::new());
    let read = config(r#"{"attempts": 3, "initial_delay": "1s", "retry_on": ["transient"]}"#);
    listed(&all[0], text).await.unwrap_err();
    aborted(&all[1], text).await.unwrap_err();
    remembered(&all[2], text).await.unwrap_err();
    postponed(&all[3], text).await.unwrap_err();
    charged(&quota, &all[4], text).await.unwrap_err();
    guarded(&all[5], text).await.unwrap_err();
    hedged(&all[6], text).await.unwrap_err();
    configured(&read, &all[7], text).await.unwrap_err();
    let block = retrying!(name = "texts", policy = CURVE, retry_on = [transient], async || {
        fails(&all[8], text)
    });
    block.await.unwrap_err();
    let retrier = Retrier::new(CURVE).retry_on([transient]);
    retrier.run(async || fails(&all[9], text)).await.unwrap_err();
    Retrier::from_config(&read).run(async || fails(&all[10], text)).await.unwrap_err();
    let breaker = Arc::new(CircuitBreaker::named("b".to_owned(), BreakerConfig::new()));
    let guarded = Retrier::new(CURVE).breaker(breaker);
    guarded.run(async || fails(&all[11], text)).await.unwrap_err();
    let calls = Arc::new(Calls::new());
    let called = Arc::clone(&calls);
    let service = tower::service_fn(move |()| std::future::ready(fails(&called, text)));
    let mut service = tower::ServiceBuilder::new().layer(RetryLayer::new(retrier)).service(service);
    service.ready().await.unwrap().call(()).await.unwrap_err();
    all.iter().chain([&*calls]).map(Calls::gaps).collect()
}

#[tokio::test(start_paused = true)]
async fn it_is_read_at_every_door_at_which_the_class_is() {
    for (door, waits) in waits_at_all_doors(BUSY).await.into_iter().enumerate() {
        assert_eq!(waits, [secs(8), secs(8)], "{door}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_does_not_fall_below_the_first_wait_of_the_curve() {
    for (door, waits) in waits_at_all_doors(HASTY).await.into_iter().enumerate() {
        assert_eq!(waits, [secs(1), secs(1)], "{door}");
    }
    // A first wait of its own does not lower the curve.
    for (first, waits) in [(Duration::ZERO, [secs(1), secs(1)]), (secs(5), [secs(5), secs(5)])] {
        let retrier = Retrier::new(CURVE.first_delay(first)).retry_on([transient]);
        let calls = Calls::new();
        retrier.run(async || fails(&calls, HASTY)).await.unwrap_err();
        assert_eq!(calls.gaps(), waits);
    }
}

#[test]
fn it_is_read_where_the_thread_waits_too() {
    #[retry(attempts = 2, initial_delay = "1ms", retry_on = [transient], budget = "1s")]
    fn read(calls: &Calls) -> Result<(), RetryError<String>> {
        fails(calls, "HTTP 429, try again in 20ms")
    }
    let error = read(&Calls::new()).unwrap_err();
    assert_eq!((error.waited(), error.retry_after()), (millis(20), Some(millis(20))));
    let policy = policy!(attempts = 2, initial_delay = "1ms");
    let retrier = Retrier::new(policy).retry_on([transient]);
    let error = retrier.run_sync(|| fails(&Calls::new(), "HTTP 503; wait 20ms")).unwrap_err();
    assert_eq!(error.waited(), millis(20));
}

#[tokio::test(start_paused = true)]
async fn it_is_not_read_where_the_class_is_not() {
    let all: [Calls; 4] = Default::default();
    bare(&all[0], BUSY).await.unwrap_err();
    unread(&all[1], BUSY).await.unwrap_err();
    let without = config(r#"{"attempts": 3, "initial_delay": "1s"}"#);
    configured(&without, &all[2], BUSY).await.unwrap_err();
    Retrier::new(CURVE).run(async || fails(&all[3], BUSY)).await.unwrap_err();
    for calls in all {
        assert_eq!(calls.gaps(), [secs(1), secs(2)]);
    }
}

#[tokio::test(start_paused = true)]
async fn only_rate_limits_and_server_errors_state_one() {
    for (text, wait) in [
        ("HTTP 504; wait 8s", secs(8)),
        ("connection reset; wait 8s", secs(1)),
        ("deadlock detected, wait 8s", secs(1)),
        ("request timeout, wait 8s", secs(1)),
    ] {
        let calls = Calls::new();
        listed(&calls, text).await.unwrap_err();
        assert_eq!(calls.gaps()[0], wait, "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_longer_one_than_max_retry_after_ends_the_call() {
    let calls = Calls::new();
    let error = guarded(&calls, "429: try again in 3 days").await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::RetryAfter, 1));
    assert_eq!(error.retry_after(), Some(secs(3 * 86_400)));
}

#[tokio::test(start_paused = true)]
async fn it_holds_all_calls_of_a_breaker() {
    let config = BreakerConfig::new().hold(secs(120));
    let breaker = Arc::new(CircuitBreaker::named("api".to_owned(), config));
    let once = Retrier::new(Policy::new().attempts(1)).breaker(Arc::clone(&breaker));
    once.run(async || fails(&Calls::new(), BUSY)).await.unwrap_err();
    assert_eq!(breaker.held_for(), secs(8));
}

#[tokio::test(start_paused = true)]
async fn what_the_program_states_comes_first() {
    #[retry(policy = CURVE, retry_on = [transient], retry_after = |_| Some(millis(5)))]
    async fn read(calls: &Calls) -> Result<(), String> {
        fails(calls, BUSY)
    }
    #[retry(policy = CURVE, retry_on = [transient], context = cx)]
    async fn ruled(calls: &Calls) -> Result<(), String> {
        cx.retry_after(millis(5));
        fails(calls, BUSY)
    }
    // It knows the error by more than the text.
    #[retry(policy = CURVE, retry_on = [transient], classify = |_| Some(Class::RATE_LIMIT))]
    async fn classified(calls: &Calls) -> Result<(), String> {
        fails(calls, BUSY)
    }
    #[retry(policy = CURVE, retry_on = [transient], classify = |_| None)]
    async fn left(calls: &Calls) -> Result<(), String> {
        fails(calls, BUSY)
    }
    let all: [Calls; 7] = Default::default();
    read(&all[0]).await.unwrap_err();
    ruled(&all[1]).await.unwrap_err();
    classified(&all[2]).await.unwrap_err();
    left(&all[3]).await.unwrap_err();
    let retrier = || Retrier::new(CURVE).retry_on([rate_limit]);
    let asks = retrier().retry_after(|_: &String| Some(millis(5)));
    asks.run(async || fails(&all[4], BUSY)).await.unwrap_err();
    let classifies = retrier().classify(|_: &String| Some(Class::RATE_LIMIT));
    classifies.run(async || fails(&all[5], BUSY)).await.unwrap_err();
    let leaves = retrier().classify(|_: &String| None);
    leaves.run(async || fails(&all[6], BUSY)).await.unwrap_err();
    let (curve, text) = ([secs(1), secs(2)], [secs(8); 2]);
    let waits = [[millis(5); 2], [millis(5); 2], curve, text, [millis(5); 2], curve, text];
    assert!(all.iter().map(Calls::gaps).eq(waits));
}

/// An error whose text has the errors that it wraps.
#[derive(Debug)]
struct Wrapper(&'static str, Box<dyn std::error::Error + Send + Sync>);

impl fmt::Display for Wrapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Wrapper {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.1)
    }
}

/// Errors of the program that leave their class to a text.
#[derive(Debug, Classify)]
enum Legacy {
    #[classify(text)]
    Text(&'static str),
    #[classify(transparent)]
    Io(io::Error),
    #[classify(rate_limit)]
    Stated(&'static str),
}

impl fmt::Display for Legacy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Stated(text) => f.write_str(text),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Legacy {}

#[tokio::test(start_paused = true)]
async fn the_innermost_text_counts_unless_a_type_is_known() {
    #[retry(policy = CURVE, retry_on = [transient])]
    async fn erased(calls: &Calls, error: &dyn Fn() -> anyhow::Error) -> anyhow::Result<()> {
        calls.make();
        Err(error())
    }
    let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
    let status = || StatusError::new(StatusCode::BAD_GATEWAY, None);
    let errors: [(&dyn Fn() -> anyhow::Error, Duration); 9] = [
        (&|| anyhow::anyhow!(BUSY).context("cannot load"), secs(8)),
        (&|| anyhow::anyhow!(BUSY).context("503, wait 20 seconds"), secs(8)),
        (&|| anyhow::anyhow!("429 Too Many Requests").context("wait 20 seconds"), secs(20)),
        (&|| io::Error::other(BUSY).into(), secs(8)),
        (&|| Legacy::Text(BUSY).into(), secs(8)),
        (&|| Legacy::Io(io::Error::other(BUSY)).into(), secs(8)),
        (&|| Legacy::Stated(BUSY).into(), secs(1)),
        (&|| Wrapper(BUSY, reset().into()).into(), secs(1)),
        (&|| Wrapper(BUSY, status().into()).into(), secs(1)),
    ];
    for (place, (error, wait)) in errors.into_iter().enumerate() {
        let calls = Calls::new();
        erased(&calls, error).await.unwrap_err();
        assert_eq!(calls.gaps()[0], wait, "{place}");
    }
}

#[tokio::test(start_paused = true)]
async fn errors_that_classify_themselves_by_a_text_state_it_too() {
    #[retry(policy = CURVE, retry_on = [transient])]
    async fn of_io(calls: &Calls) -> io::Result<()> {
        fails(calls, BUSY).map_err(io::Error::other)
    }
    #[retry(policy = CURVE)]
    async fn of_io_bare(calls: &Calls) -> io::Result<()> {
        fails(calls, BUSY).map_err(io::Error::other)
    }
    #[retry(policy = CURVE, retry_on = [transient])]
    async fn of_own(calls: &Calls, error: fn(&'static str) -> Legacy) -> Result<(), Legacy> {
        fails(calls, BUSY).map_err(|_| error(BUSY))
    }
    let all: [Calls; 6] = Default::default();
    of_io(&all[0]).await.unwrap_err();
    of_own(&all[1], Legacy::Text).await.unwrap_err();
    of_own(&all[2], |text| Legacy::Io(io::Error::other(text))).await.unwrap_err();
    let classified = Retrier::new(CURVE).retry_on([transient]).classified();
    classified
        .run(async || fails(&all[3], BUSY).map_err(|_| Legacy::Text(BUSY)))
        .await
        .unwrap_err();
    for calls in &all[..4] {
        assert_eq!(calls.gaps(), [secs(8), secs(8)]);
    }
    of_io_bare(&all[4]).await.unwrap_err();
    of_own(&all[5], Legacy::Stated).await.unwrap_err();
    for calls in &all[4..] {
        assert_eq!(calls.gaps(), [secs(1), secs(2)]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_message_of_a_body_states_it_if_neither_header_nor_field_does() {
    const MESSAGE: &str = r#"{"error": {"message": "Please try again in 8s."}}"#;
    const FIELD: &str = r#"{"error": {"message": "Please try again in 8s.", "retry_after": 3}}"#;
    const HASTY: &str = r#"{"detail": "retry in 10ms"}"#;
    #[retry(policy = CURVE)]
    async fn page(calls: &Calls, error: &StatusError) -> Result<(), StatusError> {
        calls.make();
        Err(error.clone())
    }
    let error = |asked: Option<u64>, body: &str| {
        let asked = asked.map(Duration::from_secs);
        StatusError::new(StatusCode::TOO_MANY_REQUESTS, asked).with_body(body)
    };
    for (error, wait) in [
        (error(Some(2), FIELD), secs(2)),
        (error(None, FIELD), secs(3)),
        (error(None, MESSAGE), secs(8)),
        (error(None, HASTY), secs(1)),
        (error(None, r#"{"retry_after_ms": 10}"#), millis(10)),
    ] {
        let calls = Calls::new();
        page(&calls, &error).await.unwrap_err();
        assert_eq!(calls.gaps()[0], wait, "{error:#}");
        let erased = anyhow::Error::from(error.clone()).context("more");
        assert_eq!(classify::retry_after(erased.as_ref()), error.retry_after());
        let (retrier, calls) = (Retrier::new(CURVE), Calls::new());
        let run = retrier.run(async || page_once(&calls, &error));
        run.await.unwrap_err();
        assert_eq!(calls.gaps()[0], wait, "{error:#}");
    }
    assert_eq!(error(None, MESSAGE), error(Some(8), FIELD), "the wait is part of the equality");
    let final_error = StatusError::new(StatusCode::NOT_IMPLEMENTED, None).with_body(MESSAGE);
    assert_eq!(final_error.retry_after(), None, "501 has no class");
}

#[tokio::test(start_paused = true)]
async fn of_the_members_of_a_group_the_longest_wait_counts() {
    /// The text that one member fails with, and the wait in the header of the other one.
    type Members = (&'static str, Duration);

    #[retry(policy = CURVE, retry_on = [transient], hedge = "10ms")]
    async fn fetch(calls: &Calls, members: Members, texts_first: bool) -> anyhow::Result<()> {
        member(calls, members, texts_first).await
    }
    async fn member(calls: &Calls, members: Members, texts_first: bool) -> anyhow::Result<()> {
        let is_first = calls.make() % 2 == 1;
        tokio::time::sleep(millis(20)).await;
        if is_first == texts_first {
            anyhow::bail!(members.0)
        }
        Err(StatusError::new(StatusCode::TOO_MANY_REQUESTS, Some(members.1)).into())
    }
    let retrier = Retrier::new(CURVE.hedge(millis(10))).retry_on([transient]);
    for (text, asked, least) in [
        (BUSY, secs(2), secs(8)),
        // The first wait of the curve.
        (HASTY, millis(200), secs(1)),
        (HASTY, millis(5), secs(1)),
        (HASTY, secs(2), secs(2)),
    ] {
        for texts_first in [true, false] {
            let (calls, by_retrier) = (Calls::new(), Calls::new());
            fetch(&calls, (text, asked), texts_first).await.unwrap_err();
            let run = retrier.run(|| member(&by_retrier, (text, asked), texts_first));
            run.await.unwrap_err();
            // The second member ends 10 ms after the first one, with the wait of both.
            for gap in [calls.gaps()[1], by_retrier.gaps()[1]] {
                assert_eq!(gap, least + millis(20), "{text}, {asked:?}, {texts_first}");
            }
        }
    }
}

fn page_once(calls: &Calls, error: &StatusError) -> anyhow::Result<()> {
    calls.make();
    Err(error.clone().into())
}

#[test]
fn a_stored_call_reads_it_without_lists() {
    let retrier = Retrier::new(CURVE);
    let mut state = CallState::default();
    let decision = retrier.decide(&mut state, &Failed::now(&BUSY));
    assert_eq!(decision, Decision::Wait(secs(8)));
    let asked = AskedWait { wait: secs(8), is_rate_limit: true };
    assert_eq!(retrier.asked_wait(&BUSY), Some(asked));
    assert_eq!(retrier.decide(&mut state, &Failed::now(&HASTY)), Decision::Wait(secs(1)));
}
