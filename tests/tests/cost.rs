//! The cost of a call, as far as it can be counted exactly: allocations and the size of a future.
//! Instructions and times are left to benchmarks.

use std::future::Future;
use std::io::{Error, ErrorKind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use allocation_counter::measure;
use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Policy, QuotaConfig, Retrier, RetryError, RetryQuota, policy,
    retry,
};
use tower::Service as _;

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());
const HTTP: Policy = policy!(attempts = 5, jitter, budget = "5m");

async fn reply(id: u64) -> Result<u64, Error> {
    std::future::ready(Ok(id)).await
}

async fn bare(id: u64) -> Result<u64, Error> {
    reply(id).await
}

#[retry]
async fn plain(id: u64) -> Result<u64, Error> {
    reply(id).await
}

#[retry(policy = HTTP)]
async fn shared(id: u64) -> Result<u64, Error> {
    reply(id).await
}

#[retry(retry_on = [network, pattern("(?i)locked")], jitter, on_retry = |_| {})]
async fn matched(id: u64) -> Result<u64, Error> {
    reply(id).await
}

#[retry]
async fn telling(id: u64) -> Result<u64, RetryError<Error>> {
    reply(id).await
}

#[retry(history = 5)]
async fn remembering(id: u64) -> Result<u64, RetryError<Error>> {
    reply(id).await
}

#[retry(breaker = DB, quota = OUTBOUND)]
async fn protected(id: u64) -> Result<u64, Error> {
    reply(id).await
}

fn attempts() -> u32 {
    5
}

#[retry(attempts = runtime(attempts()), initial_delay = runtime(std::time::Duration::from_secs(2)))]
async fn of_runtime(id: u64) -> Result<u64, Error> {
    reply(id).await
}

#[retry(policy = runtime(HTTP))]
async fn by_policy_of_runtime(id: u64) -> Result<u64, Error> {
    reply(id).await
}

#[retry(hedge = "200ms")]
async fn hedged(id: u64) -> Result<u64, Error> {
    reply(id).await
}

#[test]
fn a_layer_allocates_on_success_only_for_its_protection() {
    let inner = tower::service_fn(|id: u64| std::future::ready(Ok::<u64, Error>(id)));
    let plain = RetryLayer::new(Retrier::new(HTTP).history(5));
    let mut plain = tower::Layer::layer(&plain, inner);
    let guarded = RetryLayer::new(Retrier::new(HTTP).breaker(&DB));
    let mut guarded = tower::Layer::layer(&guarded, inner);
    let counted = measure(|| assert!(now(plain.call(1)).is_ok()));
    assert_eq!(counted.count_total, 0);
    let counted = measure(|| assert!(now(guarded.call(1)).is_ok()));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn a_hedge_costs_an_answer_at_once_no_allocation() {
    let counted = measure(|| assert!(now(hedged(1)).is_ok()));
    assert_eq!(counted.count_total, 0);
}

#[retry(context = cx)]
async fn with_context(id: u64) -> Result<u64, Error> {
    if cx.number() > 9 { Err(ErrorKind::Other.into()) } else { reply(id).await }
}

#[test]
fn options_of_runtime_cost_a_success_no_allocation() {
    let counted = measure(|| {
        assert!(now(of_runtime(1)).is_ok());
        assert!(now(by_policy_of_runtime(1)).is_ok());
        assert!(now(with_context(1)).is_ok());
    });
    assert_eq!(counted.count_total, 0);
}

struct Client {
    policy: Policy,
    retries: u32,
}

impl Client {
    #[retry]
    async fn plain(&self, id: u64) -> Result<u64, Error> {
        reply(id + u64::from(self.retries)).await
    }

    #[retry(policy = self.policy)]
    async fn by_policy(&self, id: u64) -> Result<u64, Error> {
        reply(id + u64::from(self.retries)).await
    }

    #[retry(policy = runtime(Policy::clone(&self.policy)))]
    async fn by_copied_policy(&self, id: u64) -> Result<u64, Error> {
        reply(id + u64::from(self.retries)).await
    }

    #[retry(attempts = self.retries)]
    async fn by_field(&self, id: u64) -> Result<u64, Error> {
        reply(id + u64::from(self.retries)).await
    }

    #[retry(attempts = self.retries.saturating_add(1))]
    async fn by_expression(&self, id: u64) -> Result<u64, Error> {
        reply(id + u64::from(self.retries)).await
    }
}

#[test]
fn a_call_holds_evaluated_values_and_borrows_fields() {
    let client = Client { policy: HTTP, retries: 4 };
    let plain = size_of_val(&client.plain(1));
    assert_eq!(size_of_val(&client.by_field(1)), plain);
    assert!(size_of_val(&client.by_expression(1)) <= plain + 2 * size_of::<u64>());
    let by_policy = size_of_val(&client.by_policy(1));
    assert!(size_of_val(&client.by_copied_policy(1)) >= by_policy + size_of::<Policy>());
}

/// Polls a future that is ready immediately, without a runtime.
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the reply is ready at once"),
    }
}

#[test]
fn a_call_that_succeeds_allocates_nothing() {
    let counted = measure(|| {
        assert!(now(plain(1)).is_ok());
        assert!(now(shared(1)).is_ok());
        assert!(now(matched(1)).is_ok());
        assert!(now(telling(1)).is_ok());
        assert!(now(remembering(1)).is_ok());
        assert!(now(protected(1)).is_ok());
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn a_history_costs_a_call_that_succeeds_nothing() {
    assert_eq!(size_of_val(&remembering(1)), size_of_val(&telling(1)));
    let retrier = Retrier::new(HTTP).history(5);
    let counted = measure(|| assert!(now(retrier.run(|| reply(1))).is_ok()));
    assert_eq!(counted.count_total, 0);
}

#[test]
fn a_name_that_the_program_made_is_shared_and_not_copied() {
    let breaker = Arc::new(CircuitBreaker::named("db".to_owned(), BreakerConfig::new()));
    let retrier = Retrier::new(Policy::new()).name("fetch".to_owned()).breaker(breaker.clone());
    let succeeding = measure(|| assert!(now(retrier.run(|| reply(1))).is_ok()));
    assert_eq!(succeeding.count_total, 0);
    breaker.force_open();
    let rejected = breaker.try_acquire().expect_err("it is open");
    assert_eq!(rejected.breaker.as_str().as_ptr(), breaker.name().as_ptr());
}

#[test]
fn the_future_of_one_argument_is_at_most_32_bytes_larger_than_the_bare_one() {
    let bare = size_of_val(&bare(1));
    for (name, size) in [
        ("plain", size_of_val(&plain(1))),
        ("shared policy", size_of_val(&shared(1))),
        ("with matchers", size_of_val(&matched(1))),
    ] {
        assert!(size <= bare + 32, "{name}: {size} bytes, bare {bare}");
    }
}

#[test]
fn the_future_of_a_hedged_call_is_at_most_128_bytes_larger_than_another_one() {
    let (plain, hedged) = (size_of_val(&plain(1)), size_of_val(&hedged(1)));
    assert!(hedged <= plain + 128, "{hedged} bytes, without hedges {plain}");
}

#[retry(attempts = 6, initial_delay = "1ms")]
async fn failing(calls: &mut u32) -> Result<u64, ErrorKind> {
    *calls += 1;
    Err(ErrorKind::Other)
}

fn paused_runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().expect("a runtime")
}

fn refuse(_: u64) -> std::future::Ready<Result<u64, Error>> {
    std::future::ready(Err(ErrorKind::ConnectionRefused.into()))
}

/// The allocations of each poll of a call that fails six times.
async fn allocations(call: impl Future<Output = Result<u64, RetryError<Error>>>) -> Vec<u64> {
    let mut call = pin!(call);
    let mut allocations = Vec::new();
    let ended = std::future::poll_fn(|cx| {
        let mut polled = Poll::Pending;
        allocations.push(measure(|| polled = call.as_mut().poll(cx)).count_total);
        polled
    });
    assert_eq!(ended.await.unwrap_err().attempts(), 6);
    allocations
}

#[test]
fn a_layer_whose_calls_fail_allocates_no_more_than_its_retrier() {
    let retrier = Retrier::new(Policy::new().attempts(6));
    let layer = RetryLayer::new(retrier.clone());
    paused_runtime().block_on(async {
        for layer in [layer.clone(), layer.leak()] {
            let mut service = tower::Layer::layer(&layer, tower::service_fn(refuse));
            // One warm-up call, for what threads and the runtime allocate on first use.
            allocations(service.call(1)).await;
            let of_retrier = allocations(retrier.run(|| refuse(1))).await;
            assert_eq!(allocations(service.call(1)).await, of_retrier);
        }
    });
}

#[test]
fn the_context_of_a_closure_is_one_allocation_for_all_attempts() {
    let retrier = Retrier::new(Policy::new().attempts(6));
    paused_runtime().block_on(async {
        // One warm-up call, for what threads and the runtime allocate on first use.
        allocations(retrier.run(|| refuse(1))).await;
        let without: u64 = allocations(retrier.run(|| refuse(1))).await.iter().sum();
        let with: u64 = allocations(retrier.run_cx(|_| refuse(1))).await.iter().sum();
        assert_eq!(with, without + 1);
        let mut kept = Vec::new();
        let with = retrier.run_cx(|cx| {
            kept.push(cx);
            refuse(1)
        });
        assert_eq!(with.await.unwrap_err().attempts(), 6);
        let numbers: Vec<u32> = kept.iter().map(|cx| cx.number()).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6], "a context that is kept stays as it is");
    });
}

#[test]
fn a_waiting_call_of_a_layer_holds_at_most_300_bytes() {
    let inner = tower::service_fn(refuse);
    let layer = RetryLayer::new(Retrier::new(Policy::new()));
    let mut service = tower::Layer::layer(&layer, inner);
    let runtime = paused_runtime();
    let _entered = runtime.enter();
    let mut call = Box::pin(service.call(1));
    assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(call);
    let mut waiting = None;
    let counted = measure(|| {
        let mut call = Box::pin(service.call(1));
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        waiting = Some(call);
    });
    assert!(counted.bytes_current <= 300, "{} bytes", counted.bytes_current);
    drop(waiting);
}

#[test]
fn a_wait_costs_at_most_one_allocation() {
    paused_runtime().block_on(async {
        // One warm-up call, for what threads and the runtime allocate on first use, and for the
        // labels of the function's metrics.
        for is_warm in [false, true] {
            let mut calls = 0;
            let mut call = pin!(failing(&mut calls));
            let mut allocations = 0;
            std::future::poll_fn(|cx| {
                let mut polled = Poll::Pending;
                allocations += measure(|| polled = call.as_mut().poll(cx).map(|_| ())).count_total;
                polled
            })
            .await;
            // At most one allocation for all waits: they set the same timer.
            assert!(allocations == 1 || !is_warm, "{allocations} allocations for 5 waits");
        }
    });
}

/// Returns the heap that `call` has taken when it begins to wait.
fn waiting_bytes(call: impl Future) -> i64 {
    let mut call = pin!(call);
    let mut cx = Context::from_waker(Waker::noop());
    measure(|| assert!(call.as_mut().poll(&mut cx).is_pending())).bytes_current
}

#[test]
fn a_waiting_call_holds_little_more_than_its_timer() {
    let runtime = paused_runtime();
    let _entered = runtime.enter();
    let retrier = Retrier::new(Policy::new());
    let paying = retrier.clone().quota(&OUTBOUND);
    let timer = i64::try_from(size_of::<tokio::time::Sleep>()).expect("it is small");
    // With `any-runtime`, a tag tells which of two timers it is.
    let timer = if cfg!(feature = "any-runtime") { timer + 8 } else { timer };
    // The first call also allocates the counters of its function.
    for is_warm in [false, true] {
        let of_attribute = waiting_bytes(failing(&mut 0));
        let of_retrier = waiting_bytes(retrier.run(async || Err::<(), _>("down")));
        let of_payer = waiting_bytes(paying.run(async || Err::<(), _>("down")));
        if is_warm {
            assert!(of_attribute <= timer + 48, "{of_attribute} bytes, the timer {timer}");
            assert!(of_retrier <= timer + 56, "{of_retrier} bytes, the timer {timer}");
            assert!(of_payer <= of_retrier + 80, "{of_payer} bytes, without a quota {of_retrier}");
        }
    }
}
