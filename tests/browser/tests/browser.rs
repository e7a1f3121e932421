//! Waits, time limits and breakers in a browser, or in node: `.ci/run` says how. The clock there cannot
//! be paused, so waits are short, and only a least time is checked.
#![cfg(all(target_family = "wasm", target_os = "unknown"))]

use std::cell::Cell;
use std::future;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use futures::future::{Either, select};
use reqwest_middleware::ClientBuilder;
use retry_runtime::durable::{CallState, Failed};
use retry_runtime::http::check_body;
use retry_runtime::matchers::server_error;
use retry_runtime::reqwest_middleware::RetryMiddleware;
use retry_runtime::{
    Backoff, BreakerConfig, CircuitBreaker, Class, Event, Interrupted, Jitter, Policy, Reason,
    Retrier, RetryError, Warning, classify, on_event, report, retry, retrying, sites,
};
use wasm_bindgen_test::wasm_bindgen_test;
use web_time::Instant;

fn refused() -> io::Error {
    io::ErrorKind::ConnectionRefused.into()
}

#[wasm_bindgen_test]
async fn a_call_waits_between_its_attempts() {
    #[retry(attempts = 3, backoff = fixed, initial_delay = "20ms")]
    async fn fetch(calls: &mut u32) -> io::Result<u32> {
        *calls += 1;
        if *calls < 3 { Err(refused()) } else { Ok(*calls) }
    }
    let began = Instant::now();
    assert_eq!(fetch(&mut 0).await.unwrap(), 3);
    assert!(began.elapsed() >= Duration::from_millis(40));
}

#[wasm_bindgen_test]
async fn attempts_and_calls_are_cut_off() {
    #[retry(attempts = 2, initial_delay = "1ms", timeout = "10ms")]
    async fn hangs(calls: &Cell<u32>) -> io::Result<()> {
        calls.set(calls.get() + 1);
        future::pending().await
    }
    #[retry(attempts = unlimited, initial_delay = "1ms", deadline = "20ms")]
    async fn ends() -> Result<(), RetryError<io::Error>> {
        future::pending().await
    }
    let calls = Cell::new(0);
    assert_eq!(hangs(&calls).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    assert_eq!(calls.get(), 2);
    let error = ends().await.unwrap_err();
    assert!(matches!(error.interrupted(), Some(Interrupted::Deadline { .. })), "{error:?}");
}

#[wasm_bindgen_test]
async fn an_open_breaker_is_waited_for() {
    let config = BreakerConfig::new().failure_threshold(1).timeout(Duration::from_millis(20));
    let breaker = CircuitBreaker::new("page", config);
    breaker.try_acquire().unwrap().failure();
    let call = retrying!(
        name = "page.waits",
        attempts = 5,
        initial_delay = "1ms",
        breaker = &breaker,
        when_open = wait,
        async { io::Result::Ok(7) }
    );
    assert_eq!(call.await.unwrap(), 7);
}

#[wasm_bindgen_test]
async fn an_attempt_that_hangs_is_hedged() {
    #[retry(attempts = 2, hedge = "10ms")]
    async fn fetch(calls: &Cell<u32>) -> io::Result<u32> {
        calls.set(calls.get() + 1);
        if calls.get() == 1 { future::pending().await } else { Ok(calls.get()) }
    }
    assert_eq!(fetch(&Cell::new(0)).await.unwrap(), 2);
}

#[wasm_bindgen_test]
async fn a_retrier_waits_too() {
    let retrier = Retrier::new(Policy::new().attempts(2).initial_delay(Duration::from_millis(10)));
    let calls = Cell::new(0);
    let call = retrier.run(async || {
        calls.set(calls.get() + 1);
        if calls.get() == 1 { Err(refused()) } else { Ok(()) }
    });
    call.await.unwrap();
    assert_eq!(calls.get(), 2);
}

#[wasm_bindgen_test]
fn a_blocking_call_ends_in_place_of_a_wait() {
    static WARNED: AtomicU32 = AtomicU32::new(0);

    let listening = on_event(|event| {
        if let Event::Warning(Warning::CannotWait { .. }) = event {
            WARNED.fetch_add(1, Relaxed);
        }
    });
    let fail = |policy: Policy| {
        let retrier = Retrier::new(policy.attempts(3)).name("page.blocking");
        retrier.run_sync(|| Err::<(), _>(refused())).unwrap_err()
    };
    let error = fail(Policy::new().first_delay(Duration::ZERO));
    assert_eq!((error.reason(), error.attempts()), (Reason::Budget, 2));
    assert_eq!(error.waited(), Duration::ZERO);
    assert_eq!(fail(Policy::new()).attempts(), 1);
    let at_once = Policy::new().backoff(Backoff::Fixed).initial_delay(Duration::ZERO);
    let error = fail(at_once.max_elapsed(Duration::from_secs(60)));
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 3));
    listening.stop();
    assert_eq!(WARNED.load(Relaxed), 1);
}

#[wasm_bindgen_test]
fn a_function_and_a_block_that_are_not_async_end_in_place_of_a_wait() {
    static WARNED: AtomicU32 = AtomicU32::new(0);

    #[retry(attempts = 3, first_delay = "0s", name = "page.function")]
    fn fetch(calls: &Cell<u32>) -> io::Result<()> {
        calls.set(calls.get() + 1);
        Err(refused())
    }
    #[retry(policy = policy, name = "page.by-argument")]
    fn at_once(policy: &Policy) -> Result<(), RetryError<io::Error>> {
        Err(refused())
    }
    let listening = on_event(|event| {
        if let Event::Warning(Warning::CannotWait { .. }) = event {
            WARNED.fetch_add(1, Relaxed);
        }
    });
    let calls = Cell::new(0);
    for _ in 0..2 {
        assert_eq!(fetch(&calls).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
    assert_eq!((calls.get(), WARNED.load(Relaxed)), (4, 1));
    let block = |breaker: &CircuitBreaker| {
        retrying!(
            name = "page.block",
            attempts = 3,
            breaker = breaker,
            when_open = wait,
            || -> Result<(), RetryError<io::Error>> { Err(refused()) }
        )
    };
    let opens_at_once = BreakerConfig::new().failure_threshold(1);
    let breaker = CircuitBreaker::new("page.opens", opens_at_once);
    for attempts in [1, 0] {
        let error = block(&breaker).unwrap_err();
        assert_eq!((error.reason(), error.attempts()), (Reason::Budget, attempts));
    }
    let policy = Policy::new().backoff(Backoff::Fixed).initial_delay(Duration::ZERO);
    let error = at_once(&policy.max_elapsed(Duration::from_secs(60))).unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 3));
    listening.stop();
}

#[wasm_bindgen_test]
async fn a_middleware_retries_the_requests_of_its_client() {
    // No server is there to answer so.
    let fetch = "globalThis.fetched = globalThis.fetch;
         globalThis.calls = 0;
         globalThis.fetch = async request => Object.defineProperty(
             new Response('', { status: globalThis.calls++ ? 200 : 503 }), 'url', { value: request.url })";
    js_sys::eval(fetch).unwrap();
    let policy = Policy::new().initial_delay(Duration::from_millis(1));
    let retrier = Retrier::new(policy).retry_on([server_error]);
    let client = ClientBuilder::new(reqwest::Client::new());
    let client = client.with(RetryMiddleware::new(retrier)).build();
    let status = client.get("http://shop.example/orders").send().await.unwrap().status();
    js_sys::eval("globalThis.fetch = globalThis.fetched").unwrap();
    assert_eq!(status, 200);
    assert_eq!(js_sys::eval("globalThis.calls").unwrap(), 2);
}

#[wasm_bindgen_test]
async fn waits_of_zero_let_others_run() {
    #[retry(attempts = unlimited, max_elapsed = "1m", backoff = fixed, initial_delay = "0s")]
    async fn until(over: &Cell<bool>) -> io::Result<()> {
        if over.get() { Ok(()) } else { Err(refused()) }
    }
    let over = Cell::new(false);
    let other = async {
        over.set(true);
    };
    futures::future::join(until(&over), other).await.0.unwrap();
}

#[wasm_bindgen_test]
async fn a_wait_of_a_month_does_not_end_at_once() {
    #[retry(attempts = 2, initial_delay = "30d", max_delay = "30d")]
    async fn fetch() -> io::Result<()> {
        Err(refused())
    }
    #[retry(attempts = 2, initial_delay = "50ms")]
    async fn for_a_moment() -> io::Result<()> {
        Err(refused())
    }
    let (fetch, moment) = (pin!(fetch()), pin!(for_a_moment()));
    assert!(matches!(select(fetch, moment).await, Either::Right(_)));
}

#[wasm_bindgen_test]
fn jitter_is_drawn_at_random() {
    let policy = Policy::new().jitter(Jitter::Full).initial_delay(Duration::from_hours(1));
    let retrier = Retrier::new(policy);
    let draw = |_| retrier.decide(&mut CallState::default(), &Failed::now(&"busy"));
    let drawn: Vec<_> = (0..4).map(draw).collect();
    assert!(drawn.windows(2).any(|two| two[0] != two[1]), "{drawn:?}");
}

#[wasm_bindgen_test]
async fn a_request_that_reaches_no_server_is_retried() {
    // No server: browsers refuse to ask port 9.
    #[retry(attempts = 3, initial_delay = "1ms")]
    async fn get(calls: &Cell<u32>) -> reqwest::Result<String> {
        calls.set(calls.get() + 1);
        reqwest::get("http://127.0.0.1:9/").await?.text().await
    }
    let calls = Cell::new(0);
    let error = get(&calls).await.unwrap_err();
    assert_eq!((calls.get(), classify::error(&error)), (3, Class::NETWORK), "{error:?}");
}

#[wasm_bindgen_test]
async fn body_of_a_failed_response_is_kept() {
    const QUOTA: &str = r#"{"code": "insufficient_quota"}"#;

    // No server is there to answer so.
    let fetch = format!(
        "globalThis.fetched = globalThis.fetch;
         globalThis.fetch = async request => Object.defineProperty(
             new Response('{QUOTA}', {{ status: 429 }}), 'url', {{ value: request.url }})"
    );
    js_sys::eval(&fetch).unwrap();
    let response = reqwest::get("http://shop.example/orders?token=secret").await.unwrap();
    js_sys::eval("globalThis.fetch = globalThis.fetched").unwrap();
    let error = check_body(response).await.unwrap_err();
    assert_eq!(error.body(), Some(QUOTA));
    assert_eq!(classify::error(&error), Class::empty());
    assert_eq!(error.url(), Some("http://shop.example/orders"));

    let response = http::Response::builder().status(503).body("busy".to_owned()).unwrap();
    assert_eq!(check_body(response).await.unwrap_err().body(), Some("busy"));
}

#[wasm_bindgen_test]
fn the_report_states_that_sites_cannot_be_listed() {
    assert!(sites().is_empty());
    assert!(report().to_string().contains("cannot be listed"), "{}", report());
}
