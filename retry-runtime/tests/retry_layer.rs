//! `RetryLayer` on virtual time: over services of the tests' own, and over a
//! client of hyper that calls a server on loopback.
#![allow(missing_docs, reason = "tests")]

mod support;

use std::collections::VecDeque;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use retry_runtime::http::StatusError;
use retry_runtime::matchers::{network, rate_limit, server_error, timeout};
use retry_runtime::tower::{RetryLayer, RetryService};
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Policy, QuotaConfig, Reason, Retrier, RetryError, RetryEvent,
    RetryQuota, State,
};
use tokio::time::{Instant, Sleep, sleep};
use tower::util::{BoxCloneSyncService, service_fn};
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

type BoxError = Box<dyn Error + Send + Sync>;

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The result of a call of [`Shop`].
#[derive(Clone, Copy, Debug)]
enum Deed {
    Sells,
    Says(u16),
    Asks(u16, u64),
    Fails(&'static str),
    FailsLate(Duration, &'static str),
    Hangs,
}

use Deed::{Asks, Fails, FailsLate, Hangs, Says, Sells};

/// The events of all clones of a [`Shop`] together.
#[derive(Debug, Default)]
struct Books {
    script: Mutex<VecDeque<Deed>>,
    // Before each time that it is ready, it is this long not.
    opens_after: Mutex<VecDeque<Result<Duration, &'static str>>>,
    calls: Mutex<Vec<Instant>>,
    shops: AtomicUsize,
    orders: AtomicUsize,
}

impl Books {
    fn calls(&self) -> usize {
        self.calls.lock().unwrap().len()
    }

    fn gaps(&self) -> Vec<Duration> {
        self.calls.lock().unwrap().windows(2).map(|two| two[1] - two[0]).collect()
    }

    fn shops_cloned(&self) -> usize {
        self.shops.load(Ordering::Relaxed)
    }

    fn orders_cloned(&self) -> usize {
        self.orders.load(Ordering::Relaxed)
    }

    fn order(self: &Arc<Self>) -> Order {
        Order(Arc::clone(self))
    }
}

/// A service that is only ready when asked, and for one call, and insists on it.
#[derive(Debug)]
struct Shop {
    books: Arc<Books>,
    ready: bool,
    opening: Option<Pin<Box<Sleep>>>,
}

impl Shop {
    fn with(script: impl IntoIterator<Item = Deed>) -> Self {
        let books = Books { script: Mutex::new(script.into_iter().collect()), ..Books::default() };
        Self { books: Arc::new(books), ready: false, opening: None }
    }

    fn opening(self, after: impl IntoIterator<Item = Result<Duration, &'static str>>) -> Self {
        self.books.opens_after.lock().unwrap().extend(after);
        self
    }
}

impl Clone for Shop {
    fn clone(&self) -> Self {
        self.books.shops.fetch_add(1, Ordering::Relaxed);
        Self { books: Arc::clone(&self.books), ready: false, opening: None }
    }
}

#[derive(Debug)]
struct Order(Arc<Books>);

impl Clone for Order {
    fn clone(&self) -> Self {
        self.0.orders.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl Service<Order> for Shop {
    type Response = Response<()>;
    type Error = &'static str;
    type Future = Pin<Box<dyn Future<Output = Result<Response<()>, &'static str>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        if self.opening.is_none() {
            match self.books.opens_after.lock().unwrap().pop_front() {
                Some(Ok(after)) => self.opening = Some(Box::pin(sleep(after))),
                Some(Err(error)) => return Poll::Ready(Err(error)),
                None => {}
            }
        }
        if let Some(opening) = &mut self.opening {
            std::task::ready!(opening.as_mut().poll(cx));
            self.opening = None;
        }
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Order) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "called without being ready");
        self.books.calls.lock().unwrap().push(Instant::now());
        let deed = self.books.script.lock().unwrap().pop_front().unwrap_or(Sells);
        Box::pin(async move {
            let response = |status| Response::builder().status(status);
            match deed {
                Sells => Ok(Response::new(())),
                Says(status) => Ok(response(status).body(()).unwrap()),
                Asks(status, secs) => {
                    Ok(response(status).header("Retry-After", secs).body(()).unwrap())
                }
                Fails(error) => Err(error),
                FailsLate(after, error) => {
                    sleep(after).await;
                    Err(error)
                }
                Hangs => std::future::pending().await,
            }
        })
    }
}

/// Asks for readiness, and calls.
async fn buy<S>(shop: &mut S, books: &Arc<Books>) -> Result<Response<()>, S::Error>
where
    S: Service<Order, Response = Response<()>>,
{
    shop.ready().await?.call(books.order()).await
}

#[tokio::test(start_paused = true)]
async fn a_success_at_once_clones_service_and_request_once() {
    let shop = Shop::with([]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(Retrier::new(Policy::new())).layer(shop);
    assert_eq!(buy(&mut shop, &books).await.unwrap().status(), 200);
    assert_eq!((books.shops_cloned(), books.orders_cloned(), books.calls()), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_last_attempt_sends_the_request_itself() {
    let shop = Shop::with([Fails("busy"); 9]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(Retrier::new(Policy::new())).layer(shop);
    let error = buy(&mut shop, &books).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 3));
    assert_eq!(error.last(), Some(&"busy"));
    assert_eq!((books.shops_cloned(), books.orders_cloned()), (1, 2));
    assert_eq!(books.gaps(), [secs(1), secs(2)]);

    let shop = Shop::with([Fails("busy")]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(Retrier::new(Policy::new().attempts(1))).layer(shop);
    assert_eq!(buy(&mut shop, &books).await.unwrap_err().reason(), Reason::Attempts);
    assert_eq!(books.orders_cloned(), 0);
}

/// A service that never becomes ready.
#[derive(Clone)]
struct Closed;

impl Service<()> for Closed {
    type Response = ();
    type Error = &'static str;
    type Future = std::future::Pending<Result<(), &'static str>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Pending
    }

    fn call(&mut self, (): ()) -> Self::Future {
        unreachable!("it is not ready")
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_rejects_calls_of_a_service_that_is_never_ready() {
    let breaker = Arc::new(CircuitBreaker::new("shop", BreakerConfig::new()));
    breaker.force_open();
    let retrier = Retrier::new(Policy::new()).breaker(breaker);
    let call = RetryLayer::new(retrier).layer(Closed).oneshot(());
    let error = tokio::time::timeout(secs(60), call).await.expect("at once").unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 0));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_includes_the_first_wait_for_readiness() {
    let began = Instant::now();
    let retrier = Retrier::new(Policy::new().deadline(secs(5)));
    let call = RetryLayer::new(retrier).layer(Closed).oneshot(());
    let error = tokio::time::timeout(secs(60), call).await.expect("in time").unwrap_err();
    assert_eq!((error.reason(), began.elapsed()), (Reason::Deadline, secs(5)));

    // Without a breaker and a deadline, the caller waits.
    let retrier = Retrier::new(Policy::new().timeout(secs(1)));
    let call = RetryLayer::new(retrier).layer(Closed).oneshot(());
    tokio::time::timeout(secs(60), call).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_call_with_a_deadline_awaits_readiness_before_each_attempt() {
    let shop = Shop::with([Fails("busy")]).opening([Ok(secs(2)), Ok(secs(3))]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(Retrier::new(Policy::new().deadline(secs(60)))).layer(shop);
    let start = Instant::now();
    assert!(shop.ready().await.is_ok());
    assert_eq!(start.elapsed(), secs(0));
    buy(&mut shop, &books).await.unwrap();
    assert_eq!(start.elapsed(), secs(2 + 1 + 3));
    assert_eq!((books.shops_cloned(), books.orders_cloned()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_breaks_before_a_guarded_call_ends_it() {
    let breaker = Arc::new(CircuitBreaker::new("shop", BreakerConfig::new()));
    let shop = Shop::with([]).opening([Err("gone")]);
    let books = Arc::clone(&shop.books);
    let retrier = Retrier::new(Policy::new()).breaker(Arc::clone(&breaker));
    let mut shop = RetryLayer::new(retrier).layer(shop);
    let error = buy(&mut shop, &books).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRepeatable, 1));
    assert_eq!(error.last(), Some(&"gone"));
    assert_eq!(breaker.snapshot().consecutive_failures, 1);
    assert_eq!(books.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_waits_until_the_service_is_ready() {
    // A shop that is called without being ready panics.
    let shop = Shop::with([Fails("busy"), Fails("busy")]).opening([
        Ok(millis(100)),
        Ok(millis(200)),
        Ok(millis(300)),
    ]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(Retrier::new(Policy::new())).layer(shop);
    let start = Instant::now();
    buy(&mut shop, &books).await.unwrap();
    assert_eq!(books.calls.lock().unwrap()[0] - start, millis(100));
    assert_eq!(books.gaps(), [millis(1_200), millis(2_300)]);
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_service_can_run_together() {
    let shop = Shop::with([Fails("busy"), Fails("busy")]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(Retrier::new(Policy::new())).layer(shop);
    let first = shop.ready().await.unwrap().call(books.order());
    let second = shop.ready().await.unwrap().call(books.order());
    let (first, second) = tokio::join!(first, second);
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(books.gaps(), [secs(0), secs(1), secs(0)]);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_breaks_before_a_call_is_reported() {
    let shop = Shop::with([]).opening([Err("gone")]);
    let mut shop = RetryLayer::new(Retrier::new(Policy::new())).layer(shop);
    let error = shop.ready().await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRetryable, 0));
    assert_eq!(error.last(), Some(&"gone"));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_breaks_before_a_retry_is_not_used_again() {
    let shop = Shop::with([Fails("busy")]).opening([Ok(secs(0)), Err("gone")]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(Retrier::new(Policy::new())).layer(shop);
    let error = buy(&mut shop, &books).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRepeatable, 2));
    assert_eq!(error.last(), Some(&"gone"));
    assert_eq!(books.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_policy_alone_retries_every_error() {
    let shop = Shop::with([Fails("busy"), Fails("gone"), Sells]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(Policy::new()).layer(shop);
    buy(&mut shop, &books).await.unwrap();
    assert_eq!(books.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_makes_no_further_attempt() {
    static QUOTA: RetryQuota = RetryQuota::new("shop", QuotaConfig::new().capacity(10));
    let shop = Shop::with([Fails("busy"); 3]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(Retrier::new(Policy::new()).quota(&QUOTA)).layer(shop);
    let call = shop.ready().await.unwrap().call(books.order());
    assert!(tokio::time::timeout(millis(500), call).await.is_err());
    sleep(secs(60)).await;
    assert_eq!(books.calls(), 1);
    assert_eq!(QUOTA.available(), 10, "the retry that was not made is paid back");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_gives_its_permit_back() {
    let config = BreakerConfig::new().failure_threshold(1).half_open_requests(1).timeout(secs(5));
    let breaker = Arc::new(CircuitBreaker::new("shop", config));
    let shop = Shop::with([Fails("busy"), Hangs]);
    let books = Arc::clone(&shop.books);
    let retrier = Retrier::new(Policy::new()).breaker(Arc::clone(&breaker));
    let mut shop = RetryLayer::new(retrier).layer(shop);
    buy(&mut shop, &books).await.unwrap_err();
    assert_eq!(breaker.state(), State::Open);
    sleep(secs(5)).await;
    assert!(tokio::time::timeout(secs(1), buy(&mut shop, &books)).await.is_err());
    assert_eq!(buy(&mut shop, &books).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_closed_breaker_counts_first_attempts_that_were_pending() {
    let breaker = Arc::new(CircuitBreaker::new("shop", BreakerConfig::new()));
    let script = [FailsLate(secs(1), "busy"), Fails("busy"), Hangs];
    let shop = Shop::with(script).opening([Ok(secs(2))]);
    let books = Arc::clone(&shop.books);
    let retrier = Retrier::new(Policy::new().attempts(2)).breaker(Arc::clone(&breaker));
    let mut shop = RetryLayer::new(retrier).layer(shop);
    assert_eq!(buy(&mut shop, &books).await.unwrap_err().attempts(), 2);
    assert_eq!(breaker.snapshot().consecutive_failures, 2);
    assert!(tokio::time::timeout(secs(1), buy(&mut shop, &books)).await.is_err());
    assert_eq!(breaker.snapshot().consecutive_failures, 2, "a dropped call counts for nothing");
    buy(&mut shop, &books).await.unwrap();
    assert_eq!(breaker.snapshot().consecutive_failures, 0);
}

#[tokio::test(start_paused = true)]
async fn the_timeout_cuts_off_an_attempt_and_its_wait_for_readiness() {
    let shop = Shop::with([Hangs]).opening([Ok(secs(0)), Ok(secs(60))]);
    let books = Arc::clone(&shop.books);
    let policy = Policy::new().timeout(millis(500));
    let mut shop = RetryLayer::new(Retrier::new(policy).retry_on([timeout])).layer(shop);
    let start = Instant::now();
    let error = buy(&mut shop, &books).await.unwrap_err();
    assert!(error.interrupted().is_some());
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 3));
    // Hangs; is not ready; is still not ready.
    assert_eq!(start.elapsed(), millis(500 + 1_000 + 500 + 2_000 + 500));
    assert_eq!(books.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_cuts_off_leaves_the_last_error_but_no_response() {
    let policy = Policy::new().deadline(secs(5));
    let layer = RetryLayer::new(Retrier::new(policy)).classify_response(StatusError::of);
    let shop = Shop::with([Fails("busy"), Hangs]);
    let books = Arc::clone(&shop.books);
    let error = buy(&mut layer.layer(shop), &books).await.unwrap_err();
    assert_eq!((error.reason(), error.last()), (Reason::Deadline, Some(&"busy")));

    let shop = Shop::with([Says(503), Hangs]);
    let books = Arc::clone(&shop.books);
    let start = Instant::now();
    // A response may hold a connection, so it was dropped when the next attempt began.
    let error = buy(&mut layer.layer(shop), &books).await.unwrap_err();
    assert_eq!((error.reason(), error.last()), (Reason::Deadline, None));
    assert_eq!(start.elapsed(), secs(5));
}

#[tokio::test(start_paused = true)]
async fn the_breaker_is_the_one_that_others_use() {
    static SHOP: CircuitBreaker =
        CircuitBreaker::new("shop", BreakerConfig::new().failure_threshold(2));
    let shop = Shop::with([Fails("busy"); 2]);
    let books = Arc::clone(&shop.books);
    let retrier = Retrier::new(Policy::new()).breaker(&SHOP);
    let mut shop = RetryLayer::new(retrier.clone()).layer(shop);
    let error = buy(&mut shop, &books).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 2));
    let error = buy(&mut shop, &books).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 0));
    assert!(error.interrupted().is_some());
    assert_eq!(books.calls(), 2);
    let elsewhere = retrier.run(|| async { Ok::<_, &str>(()) }).await.unwrap_err();
    assert_eq!(elsewhere.reason(), Reason::CircuitOpen);
}

#[tokio::test(start_paused = true)]
async fn the_quota_is_shared_by_all_services_of_a_layer() {
    let quota = Arc::new(RetryQuota::new("shop", QuotaConfig::new().capacity(15)));
    let layer = RetryLayer::new(Retrier::new(Policy::new()).quota(Arc::clone(&quota)));
    let mut ends = Vec::new();
    for _ in 0..3 {
        let shop = Shop::with([Fails("busy"); 3]);
        let books = Arc::clone(&shop.books);
        let error = buy(&mut layer.layer(shop), &books).await.unwrap_err();
        ends.push((error.reason(), error.attempts()));
    }
    assert_eq!(ends, [(Reason::Attempts, 3), (Reason::Quota, 2), (Reason::Quota, 1)]);
    assert_eq!(quota.available(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_matchers_judge_the_errors_of_the_service() {
    async fn attempts<S>(layer: impl Layer<Shop, Service = S>, error: &'static str) -> usize
    where
        S: Service<Order, Response = Response<()>, Error = RetryError<&'static str>>,
    {
        let shop = Shop::with([Fails(error); 9]);
        let books = Arc::clone(&shop.books);
        buy(&mut layer.layer(shop), &books).await.unwrap_err();
        books.calls()
    }
    let any = || Retrier::new(Policy::new());
    for (error, by_list, by_abort, by_when) in
        [("connection refused", 3, 1, 1), ("HTTP 500", 1, 3, 1), ("tea is out", 1, 3, 3)]
    {
        assert_eq!(attempts(RetryLayer::new(any()), error).await, 3);
        assert_eq!(attempts(RetryLayer::new(any().retry_on([network])), error).await, by_list);
        assert_eq!(attempts(RetryLayer::new(any().abort_on([network])), error).await, by_abort);
        let when = any().when(|error: &&str| error.starts_with("tea"));
        assert_eq!(attempts(RetryLayer::new(when), error).await, by_when);
    }
}

#[tokio::test(start_paused = true)]
async fn listeners_and_hints_of_the_retrier_are_called() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let retrier = Retrier::new(Policy::new().attempts(4))
        .name("shop")
        .retry_after(|error: &&str| error.strip_prefix("in ")?.parse().map(secs).ok())
        .on_retry(move |event: &RetryEvent<'_, &str>| {
            ear.lock().unwrap().push(event.to_string());
        });
    let shop = Shop::with([Fails("in 40"), Says(503), Asks(503, 7)]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(retrier).classify_response(StatusError::of).layer(shop);
    assert_eq!(buy(&mut shop, &books).await.unwrap().status(), 200);
    assert_eq!(books.gaps(), [secs(40), secs(2), secs(7)]);
    assert_eq!(
        *heard.lock().unwrap(),
        [
            "shop: attempt 1 of 4 failed, next in 40s: in 40",
            "shop: attempt 2 of 4 failed, next in 2s",
            "shop: attempt 3 of 4 failed, next in 7s",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_response_is_a_failure_only_if_configured() {
    let shop = Shop::with([Says(503)]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(Retrier::new(Policy::new())).layer(shop);
    assert_eq!(buy(&mut shop, &books).await.unwrap().status(), 503);
    assert_eq!(books.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn responses_are_matched_as_errors_are() {
    let retrier = Retrier::new(Policy::new()).retry_on([server_error, rate_limit]);
    let layer = RetryLayer::new(retrier).classify_response(StatusError::of);
    for (script, status, calls, gaps) in [
        ([Asks(503, 9), Sells], 200, 2, &[secs(9)] as &[_]),
        ([Says(429), Sells], 200, 2, &[secs(1)]),
        ([Asks(429, 0), Sells], 200, 2, &[secs(1)]),
        // No failure that is retried, so that the caller gets it as it is.
        ([Says(404), Sells], 404, 1, &[]),
        ([Says(302), Sells], 302, 1, &[]),
    ] {
        let shop = Shop::with(script);
        let books = Arc::clone(&shop.books);
        assert_eq!(buy(&mut layer.layer(shop), &books).await.unwrap().status(), status);
        assert_eq!((books.calls(), &books.gaps()[..]), (calls, gaps));
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_with_too_long_a_retry_after_is_returned_immediately() {
    let policy = Policy::new().max_retry_after(secs(60));
    let retrier = Retrier::new(policy).name("layer.ceiling");
    let retrier =
        retrier.retry_after(|error: &&str| error.strip_prefix("in ")?.parse().map(secs).ok());
    let layer = RetryLayer::new(retrier).classify_response(StatusError::of);
    for (wait, calls, elapsed) in [(60, 2, secs(60)), (61, 1, Duration::ZERO)] {
        let shop = Shop::with([Asks(429, wait)]);
        let (books, start) = (Arc::clone(&shop.books), Instant::now());
        let status = if calls == 1 { 429 } else { 200 };
        assert_eq!(buy(&mut layer.layer(shop), &books).await.unwrap().status(), status);
        assert_eq!((books.calls(), start.elapsed()), (calls, elapsed));
    }
    let shop = Shop::with([Fails("in 61")]);
    let books = Arc::clone(&shop.books);
    let error = buy(&mut layer.layer(shop), &books).await.unwrap_err();
    assert_eq!((error.reason(), error.retry_after()), (Reason::RetryAfter, Some(secs(61))));
}

#[tokio::test(start_paused = true)]
async fn abort_on_and_patterns_see_responses_too() {
    let gateway = retry_runtime::matchers::pattern("Gateway").unwrap();
    let retrier = Retrier::new(Policy::new()).retry_on([gateway]).abort_on([timeout]);
    let layer = RetryLayer::new(retrier).classify_response(StatusError::of);
    // "502 Bad Gateway", "504 Gateway Timeout", "503 Service Unavailable".
    for (status, calls) in [(502, 3), (504, 1), (503, 1)] {
        let shop = Shop::with([Says(status); 9]);
        let books = Arc::clone(&shop.books);
        assert_eq!(buy(&mut layer.layer(shop), &books).await.unwrap().status(), status);
        assert_eq!(books.calls(), calls, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn at_the_end_the_caller_gets_the_last_response() {
    let shop = Shop::with([Says(500), Says(502), Says(503)]);
    let books = Arc::clone(&shop.books);
    let retrier = Retrier::new(Policy::new());
    let mut shop = RetryLayer::new(retrier).classify_response(StatusError::of).layer(shop);
    assert_eq!(buy(&mut shop, &books).await.unwrap().status(), 503);
    assert_eq!(books.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn at_the_end_an_error_counts_where_it_was_the_last() {
    let shop = Shop::with([Says(500), Says(502), Fails("busy")]);
    let books = Arc::clone(&shop.books);
    let retrier = Retrier::new(Policy::new());
    let mut shop = RetryLayer::new(retrier).classify_response(StatusError::of).layer(shop);
    let error = buy(&mut shop, &books).await.unwrap_err();
    assert_eq!((error.attempts(), error.last()), (3, Some(&"busy")));
}

#[tokio::test(start_paused = true)]
async fn responses_that_are_failures_open_the_breaker() {
    let breaker = Arc::new(CircuitBreaker::new("shop", BreakerConfig::new().failure_threshold(2)));
    let retrier =
        Retrier::new(Policy::new()).retry_on([server_error]).breaker(Arc::clone(&breaker));
    let shop = Shop::with([Says(404), Says(404), Says(404), Says(503), Says(500)]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(retrier).classify_response(StatusError::of).layer(shop);
    for _ in 0..3 {
        assert_eq!(buy(&mut shop, &books).await.unwrap().status(), 404);
    }
    assert_eq!(breaker.state(), State::Closed, "a 404 says nothing about the health of a server");
    assert_eq!(buy(&mut shop, &books).await.unwrap().status(), 500);
    assert_eq!(breaker.state(), State::Open);
    assert!(buy(&mut shop, &books).await.unwrap_err().interrupted().is_some());
    assert_eq!(books.calls(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_breaker_that_others_open_during_the_wait_leaves_the_last_response() {
    let breaker = Arc::new(CircuitBreaker::new("shop", BreakerConfig::new()));
    let shop = Shop::with([Says(503)]);
    let books = Arc::clone(&shop.books);
    let retrier = Retrier::new(Policy::new()).breaker(Arc::clone(&breaker));
    let mut shop = RetryLayer::new(retrier).classify_response(StatusError::of).layer(shop);
    let trip = async {
        sleep(millis(500)).await;
        breaker.force_open();
    };
    let (response, ()) = tokio::join!(buy(&mut shop, &books), trip);
    assert_eq!(response.unwrap().status(), 503);
    assert_eq!(books.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_hold_longer_than_max_retry_after_ends_the_call() {
    let config = BreakerConfig::new().hold(secs(7_200));
    let breaker = Arc::new(CircuitBreaker::new("shop", config));
    for waits in [false, true] {
        breaker.reset();
        let shop = Shop::with([Fails("busy")]);
        let books = Arc::clone(&shop.books);
        let retrier = Retrier::new(Policy::new()).breaker(Arc::clone(&breaker));
        let retrier = if waits { retrier.wait_when_open() } else { retrier };
        let mut shop = RetryLayer::new(retrier).layer(shop);
        let hold = async {
            sleep(millis(500)).await;
            breaker.hold(secs(3_700));
        };
        let (ended, ()) = tokio::join!(buy(&mut shop, &books), hold);
        let error = ended.unwrap_err();
        assert_eq!((error.reason(), error.last()), (Reason::Held, Some(&"busy")));
        assert_eq!(error.retry_after(), Some(millis(3_699_500)));
        let error = buy(&mut shop, &books).await.unwrap_err();
        assert_eq!((error.reason(), error.attempts()), (Reason::Held, 0));
        assert_eq!(books.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_that_no_end_needs_is_dropped_before_the_wait() {
    let held = Arc::new(());
    let body = Arc::clone(&held);
    let layer = RetryLayer::new(Retrier::new(Policy::new())).retry_response(|_: &Arc<()>| true);
    let service = layer.layer(service_fn(move |()| {
        let body = Arc::clone(&body);
        async move { Ok::<_, io::Error>(body) }
    }));
    let mut held_by = Vec::new();
    let watch = async {
        for _ in 0..2 {
            sleep(millis(900)).await;
            held_by.push(Arc::strong_count(&held));
        }
    };
    let before = Arc::strong_count(&held);
    let (response, ()) = tokio::join!(service.clone().oneshot(()), watch);
    assert_eq!(held_by[0], before + 1, "the clone of the closure, and no response");
    drop(response.unwrap());
}

#[tokio::test(start_paused = true)]
async fn responses_can_be_selected_regardless_of_the_matchers() {
    let retrier = Retrier::new(Policy::new()).retry_on([network]);
    let shop = Shop::with([Says(202), Says(202)]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(retrier)
        .retry_response(|response: &Response<()>| response.status() == 202)
        .layer(shop);
    assert_eq!(buy(&mut shop, &books).await.unwrap().status(), 200);
    assert_eq!(books.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_clone_is_sent_once_and_recorded_by_the_breaker() {
    let breaker = Arc::new(CircuitBreaker::new("shop", BreakerConfig::new().failure_threshold(2)));
    let shop = Shop::with([Fails("busy"); 9]);
    let books = Arc::clone(&shop.books);
    let retrier = Retrier::new(Policy::new()).breaker(Arc::clone(&breaker));
    let mut shop = RetryLayer::new(retrier).clone_request(|_: &Order| None).layer(shop);
    let error = buy(&mut shop, &books).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRepeatable, 1));
    assert_eq!(breaker.state(), State::Closed);
    buy(&mut shop, &books).await.unwrap_err();
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_cloned_any_more_is_not_sent_again() {
    let clones = AtomicUsize::new(0);
    let shop = Shop::with([Fails("busy"); 9]);
    let books = Arc::clone(&shop.books);
    let mut shop = RetryLayer::new(Retrier::new(Policy::new().attempts(9)))
        .clone_request(move |order: &Order| {
            (clones.fetch_add(1, Ordering::Relaxed) < 2).then(|| order.clone())
        })
        .layer(shop);
    let error = buy(&mut shop, &books).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRepeatable, 3));
    assert_eq!(books.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_cloned_is_not_sent_again_after_a_timeout() {
    let clones = AtomicUsize::new(0);
    let shop = Shop::with([Fails("busy"), Hangs, Sells]);
    let books = Arc::clone(&shop.books);
    let policy = Policy::new().attempts(9).timeout(secs(1));
    let mut shop = RetryLayer::new(Retrier::new(policy))
        .clone_request(move |order: &Order| {
            (clones.fetch_add(1, Ordering::Relaxed) < 1).then(|| order.clone())
        })
        .layer(shop);
    let error = buy(&mut shop, &books).await.unwrap_err();
    assert!(error.interrupted().is_some());
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRepeatable, 2));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_cloned_at_all_ends_its_call_for_that_reason() {
    for (policy, reason) in [
        (Policy::new().attempts(4), Reason::NotRepeatable),
        (Policy::new().attempts(4).deadline(secs(60)), Reason::NotRepeatable),
        (Policy::new().attempts(1), Reason::Attempts),
    ] {
        let shop = Shop::with([Fails("busy"); 2]);
        let books = Arc::clone(&shop.books);
        let retrier = Retrier::new(policy)
            .on_retry(|event: &RetryEvent<'_, &str>| panic!("{event} is not to come"));
        let layer = RetryLayer::new(retrier).clone_request(|_: &Order| None);
        let error = buy(&mut layer.layer(shop), &books).await.unwrap_err();
        assert_eq!((error.reason(), error.attempts(), books.calls()), (reason, 1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_send_and_as_small_as_possible() {
    let shop = Shop::with([Fails("busy"); 9]);
    let books = Arc::clone(&shop.books);
    let policy = Policy::new().unlimited().budget(secs(20));
    let mut shop = RetryLayer::new(Retrier::new(policy)).layer(shop);
    let call = shop.ready().await.unwrap().call(books.order());
    let error = tokio::spawn(call).await.unwrap().unwrap_err();
    // 1, 2, 4, 8; 16 more would be too much.
    assert_eq!((error.reason(), error.attempts()), (Reason::Budget, 5));
    assert_eq!(books.orders_cloned(), 5);
}

#[tokio::test(start_paused = true)]
async fn no_slot_of_the_service_is_held_during_a_wait() {
    let shop = Shop::with([Fails("busy")]);
    let books = Arc::clone(&shop.books);
    let mut shop = ServiceBuilder::new()
        .layer(RetryLayer::new(Retrier::new(Policy::new())))
        .concurrency_limit(1)
        .service(shop);
    let first = shop.ready().await.unwrap().call(books.order());
    let mut other = shop.clone();
    let second = async {
        // In the middle of the first one's wait.
        sleep(millis(500)).await;
        let start = Instant::now();
        buy(&mut other, &books).await.unwrap();
        start.elapsed()
    };
    let (first, second) = tokio::join!(first, second);
    assert!(first.is_ok());
    assert_eq!(second, Duration::ZERO);
    assert_eq!(books.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn no_slot_of_the_service_is_held_after_a_success() {
    for policy in [Policy::new(), Policy::new().deadline(secs(9))] {
        let shop = Shop::with([Sells, Sells, Sells]);
        let books = Arc::clone(&shop.books);
        let mut shop = ServiceBuilder::new()
            .layer(RetryLayer::new(Retrier::new(policy)))
            .concurrency_limit(1)
            .service(shop);
        let mut call = pin!(shop.ready().await.unwrap().call(books.order()));
        assert!(call.as_mut().await.is_ok());
        let again = tokio::time::timeout(secs(1), buy(&mut shop, &books)).await;
        assert!(again.is_ok_and(|end| end.is_ok()));
        let polled_again = tokio::spawn({
            let mut call = Box::pin(shop.ready().await.unwrap().call(books.order()));
            async move {
                assert!(call.as_mut().await.is_ok());
                drop(call.await);
            }
        });
        let panic = polled_again.await.unwrap_err().into_panic();
        let text = panic.downcast_ref::<&str>().copied();
        assert_eq!(text, Some("a call is polled after it has ended"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_layer_stacks_with_services_whose_errors_are_boxed() {
    type Boxed = BoxCloneSyncService<&'static str, &'static str, BoxError>;

    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let flaky = service_fn(move |tea: &'static str| {
        let call = counter.fetch_add(1, Ordering::Relaxed);
        async move {
            let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
            if call < 2 { Err(BoxError::from(refused)) } else { Ok(tea) }
        }
    });
    let retrier = Retrier::new(Policy::new()).retry_on([network]);
    let service: Boxed = BoxCloneSyncService::new(
        ServiceBuilder::new()
            .map_err(RetryError::boxed)
            .layer(RetryLayer::new(retrier.clone()))
            .service(flaky),
    );
    assert_eq!(service.clone().oneshot("tea").await.unwrap(), "tea");
    assert_eq!(calls.load(Ordering::Relaxed), 3);

    let gone = service_fn(|_: &'static str| async { Err::<&str, _>(BoxError::from("tea is out")) });
    let service: Boxed = BoxCloneSyncService::new(
        ServiceBuilder::new()
            .map_err(RetryError::boxed)
            .layer(RetryLayer::new(retrier))
            .service(gone),
    );
    let error = service.oneshot("tea").await.unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "gave up after 1 attempt (the failure is not retryable): tea is out"
    );
    let inside: &RetryError<Arc<dyn Error + Send + Sync>> = error.downcast_ref().unwrap();
    assert_eq!(inside.reason(), Reason::NotRetryable);
}

#[tokio::test(start_paused = true)]
async fn layers_can_be_made_of_one_another() {
    let base = RetryLayer::new(Retrier::new(Policy::new()));
    let strict = base.clone().classify_response(StatusError::of);
    let other = base.clone().clone_request(|_: &Order| None);
    let shop = Shop::with([Says(503), Sells, Says(503), Fails("busy")]);
    let books = Arc::clone(&shop.books);
    assert_eq!(buy(&mut strict.layer(shop.clone()), &books).await.unwrap().status(), 200);
    assert_eq!(buy(&mut base.layer(shop.clone()), &books).await.unwrap().status(), 503);
    assert_eq!(buy(&mut other.layer(shop), &books).await.unwrap_err().attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_leaked_layer_makes_the_same_calls() {
    let breaker = Arc::new(CircuitBreaker::new("shop", BreakerConfig::new().failure_threshold(3)));
    let retrier = Retrier::new(Policy::new().attempts(2));
    let plain = RetryLayer::new(retrier.clone()).leak();
    let guarded = RetryLayer::new(retrier.breaker(Arc::clone(&breaker))).leak();
    for layer in [plain.clone().leak(), plain.clone(), guarded.clone()] {
        let shop = Shop::with([Fails("busy"), Sells, Fails("busy"), Fails("busy")]);
        let books = Arc::clone(&shop.books);
        let service = layer.layer(shop);
        assert_eq!(buy(&mut service.clone(), &books).await.unwrap().status(), 200);
        let error = buy(&mut service.clone(), &books).await.unwrap_err();
        assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 2));
        assert_eq!(books.gaps(), [secs(1), secs(0), secs(1)]);
    }
    // Its parts are shared by all services, and by the layers that are made of it.
    let strict = guarded.classify_response(StatusError::of);
    let shop = Shop::with([Says(503)]);
    let books = Arc::clone(&shop.books);
    buy(&mut strict.layer(shop), &books).await.unwrap();
    assert_eq!(breaker.state(), State::Open);

    let other = plain.clone_request(|_: &Order| None);
    let shop = Shop::with([Fails("busy")]);
    let books = Arc::clone(&shop.books);
    assert_eq!(buy(&mut other.layer(shop), &books).await.unwrap_err().attempts(), 1);
}

#[tokio::test]
async fn a_layer_made_of_a_leaked_one_is_leaked() {
    let breaker = Arc::new(CircuitBreaker::new("shop", BreakerConfig::new()));
    let retrier = Retrier::new(Policy::new()).breaker(Arc::clone(&breaker));
    let counted: RetryLayer = RetryLayer::new(retrier);
    let leaked = counted.clone().leak();
    let classified =
        leaked.clone().classify_response(|response: &Response<()>| StatusError::of(response));
    let by_value = leaked.clone().retry_response(|_: &Response<()>| false);
    let cloning = leaked.clone_request(|_: &Order| None);
    // A service has a copy of the parts, and so of the breaker, unless they are leaked.
    let before = Arc::strong_count(&breaker);
    let services = (classified.layer(1), by_value.layer(2), cloning.layer(3));
    assert_eq!(Arc::strong_count(&breaker), before);
    let own = counted.layer(4);
    assert_eq!(Arc::strong_count(&breaker), before + 1);
    drop((services, own));
}

#[tokio::test(start_paused = true)]
async fn a_failed_attempt_is_dropped_before_the_wait() {
    #[derive(Clone)]
    struct Held(Arc<()>);

    let held = Held(Arc::new(()));
    // A future that keeps its request after it has ended.
    let service = service_fn(|held: Held| {
        poll_fn(move |_| {
            let _ = &held;
            Poll::Ready(Err::<(), _>("busy"))
        })
    });
    let layer = RetryLayer::new(Retrier::new(Policy::new()));
    let mut call = Box::pin(layer.layer(service).call(held.clone()));
    assert!(tokio::time::timeout(millis(500), call.as_mut()).await.is_err());
    // The test's own, and the one for the next attempt.
    assert_eq!(Arc::strong_count(&held.0), 2);
    assert_eq!(call.await.unwrap_err().attempts(), 3);
    assert_eq!(Arc::strong_count(&held.0), 1);
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "a call is polled after it has ended")]
async fn a_failed_call_that_is_polled_again_panics() {
    let service = service_fn(|()| async { Err::<(), _>("busy") });
    let layer = RetryLayer::new(Retrier::new(Policy::new()));
    let mut call = Box::pin(layer.layer(service).call(()));
    assert_eq!(call.as_mut().await.unwrap_err().attempts(), 3);
    let _ = call.await;
}

#[test]
fn layers_and_services_have_debug_output() {
    let layer: RetryLayer = RetryLayer::new(Retrier::new(Policy::new()).name("shop"));
    assert!(format!("{layer:?}").starts_with("RetryLayer { retrier: Retrier { name: \"shop\""));
    let service: RetryService<u8> = layer.layer(7);
    assert!(format!("{service:?}").starts_with("RetryService { inner: 7"));
    assert_eq!((*service.get_ref(), service.into_inner()), (7, 7));
}

/// A client of hyper, over the network.
type Hyper = Client<HttpConnector, Full<Bytes>>;

fn hyper_client() -> Hyper {
    Client::builder(TokioExecutor::new()).build_http()
}

fn request(address: std::net::SocketAddr, body: &'static str) -> Request<Full<Bytes>> {
    Request::post(format!("http://{address}/")).body(Full::from(body)).unwrap()
}

async fn text(response: Response<Incoming>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_server_on_loopback_recovers() {
    let (address, log) = support::serve([(503, Some("5")), (429, None), (200, None)]).await;
    let retrier = Retrier::new(Policy::new()).retry_on([network, server_error, rate_limit]);
    let service = RetryLayer::new(retrier).classify_response(StatusError::of).layer(hyper_client());
    let response = service.oneshot(request(address, "tea")).await.unwrap();
    assert_eq!(text(response).await, "answer 3");
    assert_eq!(log.gaps(), [secs(5), secs(2)]);
    assert_eq!(log.bodies(), ["tea"; 3]);
}

#[tokio::test(start_paused = true)]
async fn a_server_on_loopback_that_does_not_recover_has_the_last_word() {
    let (address, log) = support::serve([(503, Some("0")); 9]).await;
    let retrier = Retrier::new(Policy::new()).retry_on([network, server_error]);
    let service = RetryLayer::new(retrier).classify_response(StatusError::of).layer(hyper_client());
    let response = service.oneshot(request(address, "tea")).await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(text(response).await, "answer 3", "with its body, unread");
    assert_eq!(log.bodies().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_closed_port_on_loopback_is_a_network_failure() {
    let address = support::NOWHERE;
    let client = hyper_client();
    for (matcher, attempts) in [(network, 3), (server_error, 1)] {
        let retrier = Retrier::new(Policy::new()).retry_on([matcher]);
        let service =
            RetryLayer::new(retrier).classify_response(StatusError::of).layer(client.clone());
        let error = service.oneshot(request(address, "tea")).await.unwrap_err();
        assert_eq!(error.attempts(), attempts);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_can_be_cloned_is_hedged_on_a_clone_of_the_service() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let service = service_fn(move |request: &'static str| {
        let call = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            if call == 0 {
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            Ok::<_, std::io::Error>((request, call))
        }
    });
    let policy = Policy::new().attempts(1).hedge(Duration::from_millis(200));
    let layer = RetryLayer::new(Retrier::new(policy));
    let start = tokio::time::Instant::now();
    assert_eq!(layer.layer(service.clone()).oneshot("get").await.unwrap(), ("get", 1));
    assert_eq!(start.elapsed(), Duration::from_millis(200));

    calls.store(0, Ordering::Relaxed);
    let layer = layer.clone_request(|_: &&'static str| None);
    assert_eq!(layer.layer(service).oneshot("post").await.unwrap(), ("post", 0));
    assert_eq!(calls.load(Ordering::Relaxed), 1, "what cannot be cloned is sent once");
}

#[tokio::test(start_paused = true)]
async fn an_unready_hedge_leaves_retries_to_the_first_attempt() {
    static BREAKER: CircuitBreaker = CircuitBreaker::new("shop", BreakerConfig::new());
    static QUOTA: RetryQuota = RetryQuota::new("shop", QuotaConfig::new());
    for clone in [Ok(secs(60)), Err("gone")] {
        let shop =
            Shop::with([FailsLate(millis(300), "busy"), Sells]).opening([Ok(secs(0)), clone]);
        let books = Arc::clone(&shop.books);
        let policy = Policy::new().hedge(millis(200));
        let retrier = Retrier::new(policy).breaker(&BREAKER).quota(&QUOTA);
        let mut shop = RetryLayer::new(retrier).layer(shop);
        assert_eq!(buy(&mut shop, &books).await.unwrap().status(), 200);
        assert_eq!(books.gaps(), [millis(1_300)], "the second call is a retry");
        assert_eq!(books.opens_after.lock().unwrap().len(), 0, "a hedge was due");
        assert_eq!(QUOTA.available(), 500, "a hedge costs a token for good");
        assert_eq!(BREAKER.snapshot().consecutive_failures, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hedge_is_due_after_the_request_was_sent() {
    let shop = Shop::with([FailsLate(secs(60), "busy"), Sells]).opening([Ok(secs(5))]);
    let books = Arc::clone(&shop.books);
    let policy = Policy::new().attempts(1).hedge(millis(200)).deadline(secs(30));
    let mut shop = RetryLayer::new(Retrier::new(policy)).layer(shop);
    assert_eq!(buy(&mut shop, &books).await.unwrap().status(), 200);
    assert_eq!(books.gaps(), [millis(200)]);
}

#[tokio::test(start_paused = true)]
async fn an_unready_hedge_holds_no_permit() {
    let config = BreakerConfig::new()
        .failure_threshold(1)
        .timeout(secs(1))
        .success_threshold(2)
        .half_open_requests(2);
    let breaker = Arc::new(CircuitBreaker::new("shop", config));
    breaker.try_acquire().unwrap().failure();
    sleep(secs(1)).await;
    let shop = Shop::with([FailsLate(millis(300), "busy")]).opening([Ok(secs(0)), Ok(secs(60))]);
    let books = Arc::clone(&shop.books);
    let policy = Policy::new().attempts(1).hedge(millis(200));
    let retrier = Retrier::new(policy).breaker(Arc::clone(&breaker));
    let mut shop = RetryLayer::new(retrier).layer(shop);
    let other = async {
        sleep(millis(250)).await;
        breaker.try_acquire().map(drop)
    };
    let (outcome, other) = tokio::join!(buy(&mut shop, &books), other);
    assert_eq!(outcome.unwrap_err().attempts(), 1);
    assert_eq!(other, Ok(()), "the second place is free");
    assert_eq!(books.opens_after.lock().unwrap().len(), 0, "a hedge was due");
}

#[tokio::test(start_paused = true)]
async fn a_service_with_a_single_slot_is_not_hedged_but_retried() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let service = ServiceBuilder::new().concurrency_limit(1).service(service_fn(move |(): ()| {
        let call = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            sleep(secs(1)).await;
            if call == 0 { Err(io::Error::from(io::ErrorKind::ConnectionReset)) } else { Ok(call) }
        }
    }));
    let layer = RetryLayer::new(Retrier::new(Policy::new().attempts(2).hedge(millis(200))));
    let start = Instant::now();
    assert_eq!(layer.layer(service).oneshot(()).await.unwrap(), 1);
    assert_eq!(start.elapsed(), secs(3), "two attempts of 1 s, and a wait of 1 s between them");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_cloned_for_a_hedge_is_retried() {
    static QUOTA: RetryQuota = RetryQuota::new("shop", QuotaConfig::new().share(0.1));
    let clones = AtomicUsize::new(0);
    let shop = Shop::with([FailsLate(millis(300), "busy"), Sells]);
    let books = Arc::clone(&shop.books);
    let retrier = Retrier::new(Policy::new().hedge(millis(200))).quota(&QUOTA);
    let mut shop = RetryLayer::new(retrier)
        .clone_request(move |order: &Order| {
            (clones.fetch_add(1, Ordering::Relaxed) != 1).then(|| order.clone())
        })
        .layer(shop);
    assert_eq!(buy(&mut shop, &books).await.unwrap().status(), 200);
    assert_eq!(books.gaps(), [millis(1_300)]);
    assert_eq!(QUOTA.available(), 500);
    // Ten are free, and the retry has taken one of them.
    let left = std::iter::from_fn(|| QUOTA.try_acquire(retry_runtime::Class::empty()));
    assert_eq!(left.count(), 9);
}
