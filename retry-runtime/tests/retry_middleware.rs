//! `RetryMiddleware`: clients of reqwest-middleware that call a server on loopback, on virtual time.
#![allow(missing_docs, reason = "tests")]

mod support;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Extensions;
use hyper::body::{Bytes, Frame};
use reqwest::{Body, Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error, Middleware, Next};
use retry_runtime::http::StatusError;
use retry_runtime::matchers::{rate_limit, timeout, transient};
use retry_runtime::reqwest_middleware::RetryMiddleware;
use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, Event, Interrupted, Policy, Reason, Retrier, classify,
    on_event, retry,
};
use tokio::time::Instant;

use support::{NOWHERE, serve};

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

fn bare() -> reqwest::Client {
    // Without idle connections, which a timer of the pool would close.
    reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap()
}

fn client(middleware: impl Middleware) -> ClientWithMiddleware {
    ClientBuilder::new(bare()).with(middleware).build()
}

fn transient_failures() -> Retrier {
    Retrier::new(Policy::new().attempts(3).initial_delay(secs(1))).retry_on([transient])
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_as_long_as_the_server_asks() {
    let (address, log) = serve([(503, Some("7")), (429, Some("50"))]).await;
    let client = client(RetryMiddleware::new(transient_failures()));
    let response = client.get(format!("http://{address}/tea")).send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), "answer 3");
    assert_eq!(log.gaps(), [secs(7), secs(50)]);
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_not_retryable_is_returned_at_once() {
    let (address, log) = serve([(404, None)]).await;
    let client = client(RetryMiddleware::new(transient_failures()));
    let response = client.get(format!("http://{address}/tea")).send().await.unwrap();
    assert_eq!((response.status().as_u16(), log.bodies().len()), (404, 1));
}

#[tokio::test(start_paused = true)]
async fn the_last_response_is_returned_when_the_attempts_are_used() {
    let (address, log) = serve([(503, None); 5]).await;
    let client = client(RetryMiddleware::new(transient_failures()));
    let response = client.get(format!("http://{address}/tea")).send().await.unwrap();
    assert_eq!((response.status().as_u16(), log.bodies().len()), (503, 3));
    assert_eq!(response.text().await.unwrap(), "answer 3");
}

#[tokio::test(start_paused = true)]
async fn only_idempotent_methods_are_repeated() {
    for (method, requests) in
        [("GET", 3), ("PUT", 3), ("DELETE", 3), ("HEAD", 3), ("POST", 1), ("PATCH", 1)]
    {
        let (address, log) = serve([(503, None); 5]).await;
        let client = client(RetryMiddleware::new(transient_failures()));
        let method = method.parse().unwrap();
        let request = client.request(method, format!("http://{address}/")).body("tea");
        assert_eq!(request.send().await.unwrap().status(), 503);
        assert_eq!(log.bodies(), vec!["tea"; requests]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_post_that_fails_reports_that_it_is_not_repeated() {
    let (address, log) = serve([(503, None), (200, None)]).await;
    let reasons = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&reasons);
    let listening = on_event(move |event| {
        if let (Event::GaveUp { reason, .. }, "post.once") = (event, event.name()) {
            heard.lock().unwrap().push(*reason);
        }
    });
    let client = client(RetryMiddleware::new(transient_failures().name("post.once")));
    let response = client.post(format!("http://{address}/")).body("tea").send().await.unwrap();
    listening.stop();
    assert_eq!((response.status().as_u16(), log.bodies().len()), (503, 1));
    assert_eq!(*reasons.lock().unwrap(), [Reason::NotRepeatable]);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_a_stream_is_sent_once() {
    let (address, log) = serve([(503, None); 5]).await;
    let client = client(RetryMiddleware::new(transient_failures()));
    let stream = Body::wrap(OneFrame(Some("tea")));
    let response = client.put(format!("http://{address}/")).body(stream).send().await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(log.bodies(), ["tea"]);
}

/// A body of one frame, which cannot be cloned.
struct OneFrame(Option<&'static str>);

impl hyper::body::Body for OneFrame {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|text| Ok(Frame::data(text.into()))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_determines_what_is_repeated_and_what_is_a_failure() {
    let (address, log) = serve([(429, None), (500, None)]).await;
    let retrier = Retrier::new(Policy::new()).retry_on([rate_limit]);
    let layer = RetryLayer::new(retrier)
        .classify_response(|response: &Response| StatusError::of(response))
        .clone_request(Request::try_clone);
    let client = client(RetryMiddleware::from(layer));
    let response = client.post(format!("http://{address}/")).body("tea").send().await.unwrap();
    assert_eq!(response.status(), 500);
    assert_eq!(log.bodies(), ["tea", "tea"]);
}

#[tokio::test(start_paused = true)]
async fn the_last_error_of_reqwest_is_returned_untouched() {
    let client = client(RetryMiddleware::new(transient_failures()));
    let start = Instant::now();
    let error = client.get(format!("http://{NOWHERE}/")).send().await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    assert_eq!(classify::error(&error), Class::NETWORK | Class::CONNECT);
    assert_eq!(start.elapsed(), secs(1 + 2));
}

/// A middleware that does not answer.
struct Silence;

impl Middleware for Silence {
    fn handle<'a, 'b, 'c, 'd>(
        &'a self,
        _: Request,
        _: &'b mut Extensions,
        _: Next<'c>,
    ) -> Pin<Box<dyn Future<Output = Result<Response, Error>> + Send + 'd>>
    where
        Self: 'd,
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_ends_an_attempt_and_is_found_in_the_error() {
    let retrier = Retrier::new(Policy::new().attempts(2).timeout(secs(5))).retry_on([timeout]);
    let client =
        ClientBuilder::new(bare()).with(RetryMiddleware::new(retrier)).with(Silence).build();
    let start = Instant::now();
    let error = client.get(format!("http://{NOWHERE}/")).send().await.unwrap_err();
    assert_eq!(Interrupted::find_in(&error), Some(&Interrupted::timeout(secs(5))));
    assert_eq!(classify::error(&error), Class::TIMEOUT);
    assert_eq!(start.elapsed(), secs(5 + 1 + 5));
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_sends_nothing() {
    static SHOP: CircuitBreaker =
        CircuitBreaker::new("middleware", BreakerConfig::new().failure_threshold(1));
    let (address, log) = serve([(503, None)]).await;
    let retrier = Retrier::new(Policy::new().attempts(1)).retry_on([transient]).breaker(&SHOP);
    let client = client(RetryMiddleware::new(retrier));
    let url = format!("http://{address}/");
    assert_eq!(client.get(&url).send().await.unwrap().status(), 503);
    let error = client.get(&url).send().await.unwrap_err();
    let Some(Interrupted::CircuitOpen { breaker, remaining, .. }) = Interrupted::find_in(&error)
    else {
        panic!("{error:?}")
    };
    assert_eq!((breaker.as_str(), *remaining), ("middleware", secs(30)));
    assert_eq!(log.bodies().len(), 1);
}

/// Counts attempts in the extensions, and reports the count of the last one.
#[derive(Clone)]
struct Tally(u32);

struct Counts(Arc<AtomicU32>);

impl Middleware for Counts {
    fn handle<'a, 'b, 'c, 'd>(
        &'a self,
        request: Request,
        extensions: &'b mut Extensions,
        next: Next<'c>,
    ) -> Pin<Box<dyn Future<Output = Result<Response, Error>> + Send + 'd>>
    where
        Self: 'd,
        'a: 'd,
        'b: 'd,
        'c: 'd,
    {
        Box::pin(async move {
            let tally = extensions.get_or_insert_with(|| Tally(0));
            tally.0 += 1;
            self.0.store(tally.0, Ordering::Relaxed);
            next.run(request, extensions).await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_runs_the_middlewares_behind_with_the_extensions_of_the_one_before() {
    let (address, _) = serve([(503, None); 5]).await;
    let count = Arc::new(AtomicU32::new(0));
    let client = ClientBuilder::new(bare())
        .with(RetryMiddleware::new(transient_failures()))
        .with(Counts(Arc::clone(&count)))
        .build();
    let mut extensions = Extensions::new();
    extensions.insert(Tally(10));
    let request = client.get(format!("http://{address}/")).build().unwrap();
    client.execute_with_extensions(request, &mut extensions).await.unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 13);
    assert_eq!(extensions.get::<Tally>().unwrap().0, 13);
}

#[tokio::test(start_paused = true)]
async fn an_annotated_function_can_fail_with_the_error_of_the_client() {
    #[retry(attempts = 2, deadline = "20s", retry_on = [transient])]
    async fn fetch(client: &ClientWithMiddleware) -> Result<Response, Error> {
        client.get(format!("http://{NOWHERE}/")).send().await
    }

    let client = ClientBuilder::new(bare()).with(Silence).build();
    let error = fetch(&client).await.unwrap_err();
    assert!(matches!(Interrupted::find_in(&error), Some(Interrupted::Deadline { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_hedge_runs_beside_an_attempt_that_does_not_answer() {
    /// Does not answer the first request.
    struct SilentAtFirst(AtomicU32);

    impl Middleware for SilentAtFirst {
        fn handle<'a, 'b, 'c, 'd>(
            &'a self,
            request: Request,
            extensions: &'b mut Extensions,
            next: Next<'c>,
        ) -> Pin<Box<dyn Future<Output = Result<Response, Error>> + Send + 'd>>
        where
            Self: 'd,
            'a: 'd,
            'b: 'd,
            'c: 'd,
        {
            match self.0.fetch_add(1, Ordering::Relaxed) {
                0 => Box::pin(std::future::pending()),
                _ => next.run(request, extensions),
            }
        }
    }

    let (address, log) = serve([]).await;
    let policy = Policy::new().attempts(1).hedge(Duration::from_millis(200));
    let retrier = Retrier::new(policy).retry_on([transient]);
    let client = ClientBuilder::new(bare())
        .with(RetryMiddleware::new(retrier))
        .with(SilentAtFirst(AtomicU32::new(0)))
        .build();
    let start = Instant::now();
    let response = client.get(format!("http://{address}/")).send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), "answer 1");
    assert_eq!((start.elapsed(), log.bodies().len()), (Duration::from_millis(200), 1));
}
