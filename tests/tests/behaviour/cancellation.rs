//! A call whose future is dropped leaves nothing behind.

use std::future::{Future, Ready, ready};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Waker};

use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Policy, QuotaConfig, Retrier, RetryQuota, State, retry,
};
use tokio::time::{advance, sleep, timeout};
use tower::{Layer as _, ServiceExt as _, service_fn};

use crate::support::{Calls, Failure, millis, secs};

const FRAGILE: BreakerConfig =
    BreakerConfig::new().failure_threshold(1).half_open_requests(1).success_threshold(1);

/// Counts its live instances.
struct Alive<'a>(&'a AtomicU32);

impl<'a> Alive<'a> {
    fn new(count: &'a AtomicU32) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_in_its_attempt_frees_its_place() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", FRAGILE);
    #[retry(breaker = DB)]
    async fn query(alive: &AtomicU32) -> Result<(), Failure> {
        let _alive = Alive::new(alive);
        sleep(secs(60)).await;
        Ok(())
    }
    let retrier = Retrier::new(Policy::new()).breaker(&DB);
    DB.try_acquire().unwrap().failure();
    advance(secs(30)).await;

    let alive = AtomicU32::new(0);
    let cancelled = timeout(secs(1), query(&alive)).await;
    assert!(cancelled.is_err());
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    assert_eq!((DB.state(), DB.snapshot().probes), (State::HalfOpen, 0));

    let hang = || async {
        sleep(secs(60)).await;
        Ok::<(), Failure>(())
    };
    assert!(timeout(secs(1), retrier.run(hang)).await.is_err());
    assert_eq!((DB.state(), DB.snapshot().probes), (State::HalfOpen, 0));
    DB.try_acquire().expect("a place").success();
    assert_eq!(DB.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_in_its_wait_holds_no_permit_and_makes_no_call() {
    static DB: CircuitBreaker =
        CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(9));
    #[retry(breaker = DB)]
    async fn query(calls: &Calls, alive: &AtomicU32) -> Result<(), Failure> {
        let _alive = Alive::new(alive);
        Err(Failure::Busy(calls.make()))
    }
    let (calls, alive) = (Calls::new(), AtomicU32::new(0));
    assert!(timeout(millis(500), query(&calls, &alive)).await.is_err());
    advance(secs(60)).await;
    assert_eq!((calls.made(), alive.load(Ordering::Relaxed)), (1, 0));
    assert_eq!(DB.snapshot().consecutive_failures, 1, "the failure itself was heard of");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_polled_does_nothing() {
    static OUT: RetryQuota = RetryQuota::new("out", QuotaConfig::new());
    #[retry(quota = OUT)]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    drop(fetch(&calls));
    assert_eq!((calls.made(), OUT.available()), (0, 500));
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_ends_the_call_and_frees_the_breaker() {
    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    #[retry(breaker = DB, on_retry = |_| panic!("a bug in the listener"))]
    async fn query() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    assert!(tokio::spawn(query()).await.unwrap_err().is_panic());
    assert_eq!(DB.snapshot().consecutive_failures, 1, "heard of once, as the failure it was");
}

static PANICS: CircuitBreaker = CircuitBreaker::new("panics", BreakerConfig::new());

/// Polls a call that panics; returns whether the breaker has counted a failure although the call is
/// not dropped during the panic.
fn counts_panic(call: impl Future) -> bool {
    let mut call = pin!(call);
    let mut poll = || call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
    PANICS.reset();
    assert!(std::panic::catch_unwind(AssertUnwindSafe(&mut poll)).is_err());
    PANICS.snapshot().consecutive_failures == 1
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_code_of_the_program_counts_before_the_call_is_dropped() {
    #[retry(breaker = PANICS)]
    async fn body() -> Result<(), Failure> {
        panic!("a bug in the body")
    }
    #[retry(breaker = PANICS, retry_on = [when(|_| panic!("a bug in the matcher"))])]
    async fn matcher() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    assert!(counts_panic(body()));
    assert!(counts_panic(matcher()));

    let fails = || ready(Err::<(), _>(Failure::Corrupt));
    let broken = || -> Ready<Result<(), Failure>> { panic!("a bug in the closure") };
    let hedged = Policy::new().hedge(millis(10));
    for policy in [Policy::new(), Policy::new().deadline(secs(60)), hedged] {
        let retrier = Retrier::new(policy).breaker(&PANICS);
        assert!(counts_panic(retrier.run(broken)));
        assert!(counts_panic(retrier.run(async || panic!("a bug") as Result<(), Failure>)));
        assert!(counts_panic(retrier.run(fails).when(|_| panic!("a bug in the predicate"))));
        let classes = retrier.clone().when(|_: &Failure| panic!("a bug in the predicate"));
        assert!(counts_panic(classes.run(fails)));
        let values = retrier.clone().retry_on_value(|()| panic!("a bug in the predicate"));
        assert!(counts_panic(values.run(|| ready(Ok::<_, Failure>(())))));

        let layer = RetryLayer::new(retrier.clone());
        assert!(counts_panic(layer.layer(service_fn(move |()| broken())).oneshot(())));
        let layer = RetryLayer::new(classes.clone());
        assert!(counts_panic(layer.layer(service_fn(move |()| fails())).oneshot(())));

        assert!(counts_panic(async { retrier.run_sync(|| -> Result<(), Failure> { panic!() }) }));
        assert!(counts_panic(async { classes.run_sync(|| Err::<(), _>(Failure::Corrupt)) }));
    }
}
