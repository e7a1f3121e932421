//! `hedge`: an attempt that has not answered is joined by another one.

mod group;

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_runtime::matchers::rate_limit;
use retry_runtime::{
    Bound, BreakerConfig, CircuitBreaker, Field, Policy, QuotaConfig, Reason, Retrier, RetryError,
    RetryQuota, State, policy, retry, retrying, sites,
};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{Calls, Failure, millis, secs};

/// The calls of a service: how long each takes, and its answer.
#[derive(Debug)]
struct Service {
    script: Vec<(Duration, Result<u32, Failure>)>,
    calls: Arc<Calls>,
    dropped: Mutex<u32>,
}

impl Service {
    fn of(script: impl IntoIterator<Item = (Duration, Result<u32, Failure>)>) -> Self {
        let script = script.into_iter().collect();
        Self { script, calls: Arc::default(), dropped: Mutex::new(0) }
    }

    async fn call(&self) -> Result<u32, Failure> {
        struct Running<'a>(&'a Service, bool);

        impl Drop for Running<'_> {
            fn drop(&mut self) {
                if !self.1 {
                    *self.0.dropped.lock().unwrap() += 1;
                }
            }
        }

        let number = self.calls.make() as usize;
        let (takes, answer) = self.script[number.min(self.script.len()) - 1].clone();
        let mut running = Running(self, false);
        sleep(takes).await;
        running.1 = true;
        answer
    }

    /// The calls that were made, and those of them that were dropped while they ran.
    fn seen(&self) -> (usize, u32) {
        (self.calls.made(), *self.dropped.lock().unwrap())
    }
}

const SLOW: Duration = secs(60);

#[retry(attempts = 3, hedge = "200ms")]
async fn fetch(service: &Service) -> Result<u32, Failure> {
    service.call().await
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_time_is_not_hedged() {
    let service = Service::of([(millis(199), Ok(1))]);
    assert_eq!(fetch(&service).await, Ok(1));
    assert_eq!(service.seen(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_slow_attempt_is_joined_by_another_one_and_dropped_when_that_succeeds() {
    let service = Service::of([(SLOW, Ok(1)), (millis(50), Ok(2))]);
    let start = Instant::now();
    assert_eq!(fetch(&service).await, Ok(2));
    assert_eq!(start.elapsed(), millis(250));
    assert_eq!(service.seen(), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn the_attempt_itself_may_still_be_the_first_to_succeed() {
    let service = Service::of([(millis(300), Ok(1)), (SLOW, Ok(2))]);
    let start = Instant::now();
    assert_eq!(fetch(&service).await, Ok(1));
    assert_eq!(start.elapsed(), millis(300));
    assert_eq!(service.seen(), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_would_be_retried_waits_for_the_others() {
    let service = Service::of([(millis(300), Err(Failure::Busy(1))), (secs(2), Ok(2))]);
    let start = Instant::now();
    assert_eq!(fetch(&service).await, Ok(2));
    assert_eq!(start.elapsed(), millis(2200));
    let service = Service::of([(secs(2), Ok(1)), (millis(50), Err(Failure::Busy(2)))]);
    assert_eq!(fetch(&service).await, Ok(1));
    assert_eq!(service.seen(), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_would_not_be_retried_ends_the_attempt_at_once() {
    #[retry(hedge = "200ms", abort_on = [matches(Failure::Corrupt)])]
    async fn fetch(service: &Service) -> Result<u32, RetryError<Failure>> {
        service.call().await
    }
    let service = Service::of([(SLOW, Ok(1)), (millis(50), Err(Failure::Corrupt))]);
    let start = Instant::now();
    let error = fetch(&service).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRetryable, 1));
    assert_eq!(start.elapsed(), millis(250));
    assert_eq!(service.seen(), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn if_all_hedges_failed_the_last_error_is_retried() {
    let busy = |takes, call| (takes, Err(Failure::Busy(call)));
    let service = Service::of([
        busy(millis(500), 1),
        busy(millis(100), 2),
        busy(millis(10), 3),
        busy(millis(10), 4),
    ]);
    let start = Instant::now();
    assert_eq!(fetch(&service).await, Err(Failure::Busy(4)));
    // 500 ms, a wait of 1 s, 10 ms, a wait of 2 s, 10 ms.
    assert_eq!(start.elapsed(), millis(3520));
    assert_eq!(service.seen(), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn a_failure_before_the_delay_is_retried_without_a_hedge() {
    let service = Service::of([(millis(199), Err(Failure::Busy(1))), (millis(1), Ok(2))]);
    assert_eq!(fetch(&service).await, Ok(2));
    assert_eq!(service.calls.gaps(), [millis(1199)]);
}

#[tokio::test(start_paused = true)]
async fn hedges_start_one_after_the_other_up_to_the_maximum() {
    #[retry(hedge(after = "200ms", max = 3), attempts = 1)]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    let service = Service::of([(SLOW, Ok(1))]);
    let start = Instant::now();
    assert_eq!(fetch(&service).await, Ok(1));
    assert_eq!(start.elapsed(), SLOW);
    assert_eq!(service.calls.gaps(), [millis(200); 3]);
    assert_eq!(service.seen(), (4, 3));
}

#[tokio::test(start_paused = true)]
async fn a_timeout_bounds_an_attempt_with_its_hedges() {
    #[retry(attempts = 2, hedge = "200ms", timeout = "1s", initial_delay = "1s")]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    let service = Service::of([(SLOW, Ok(1))]);
    let start = Instant::now();
    let error = fetch(&service).await.unwrap_err();
    assert!(matches!(error, Failure::Interrupted(_)), "{error}");
    assert_eq!(start.elapsed(), secs(3));
    assert_eq!(service.seen(), (4, 4));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_bounds_them_too_and_the_last_real_error_is_returned() {
    #[retry(hedge = "200ms", deadline = "2s")]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    let service = Service::of([(millis(1), Err(Failure::Busy(1))), (SLOW, Ok(2))]);
    let start = Instant::now();
    assert_eq!(fetch(&service).await, Err(Failure::Busy(1)));
    assert_eq!(start.elapsed(), secs(2));
    assert_eq!(service.seen(), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn each_attempt_finds_out_which_one_it_is_and_rules_on_its_own_failure() {
    #[retry(hedge(after = "200ms", max = 2), attempts = 2, context = cx)]
    async fn fetch(seen: &Mutex<Vec<(u32, u32)>>) -> Result<u32, Failure> {
        seen.lock().unwrap().push((cx.number(), cx.hedge()));
        match cx.hedge() {
            0 if cx.number() == 1 => {
                sleep(secs(1)).await;
                Err(Failure::Busy(0))
            }
            0 => Ok(7),
            1 => {
                sleep(secs(2)).await;
                cx.retry_after(secs(5));
                Err(Failure::Busy(1))
            }
            _ => {
                cx.give_up();
                sleep(secs(60)).await;
                Err(Failure::Busy(2))
            }
        }
    }
    let seen = Mutex::new(Vec::new());
    let start = Instant::now();
    // The one that gives up is still running when the first fails, and when the second does.
    assert_eq!(fetch(&seen).await, Err(Failure::Busy(2)));
    assert_eq!(start.elapsed(), millis(60_400));
    assert_eq!(*seen.lock().unwrap(), [(1, 0), (1, 1), (1, 2)]);

    #[retry(hedge = "200ms", attempts = 2, context = cx)]
    async fn ruled() -> Result<u32, Failure> {
        if cx.number() == 2 {
            return Ok(u32::from(cx.last_delay() == Some(secs(5))));
        }
        if cx.hedge() == 0 {
            sleep(secs(1)).await;
            return Err(Failure::Busy(0));
        }
        sleep(secs(3)).await;
        cx.retry_after(secs(5));
        Err(Failure::Busy(1))
    }
    assert_eq!(ruled().await, Ok(1), "the last failure is that of the hedge");
}

#[tokio::test(start_paused = true)]
async fn each_hedge_has_a_permit_and_each_result_is_recorded() {
    static DB: CircuitBreaker =
        CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(3));
    #[retry(hedge = "200ms", attempts = 1, breaker = DB)]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    let failing =
        Service::of([(millis(300), Err(Failure::Busy(1))), (millis(200), Err(Failure::Busy(2)))]);
    fetch(&failing).await.unwrap_err();
    assert_eq!(DB.snapshot().consecutive_failures, 2);
    let rescued = Service::of([(millis(300), Err(Failure::Busy(1))), (millis(200), Ok(2))]);
    fetch(&rescued).await.unwrap();
    assert_eq!(DB.state(), State::Open, "the third failure in a row came before the success");
}

#[tokio::test(start_paused = true)]
async fn a_half_open_breaker_without_a_place_for_a_hedge_admits_none() {
    static DB: CircuitBreaker = CircuitBreaker::new(
        "db",
        BreakerConfig::new().failure_threshold(1).half_open_requests(1).timeout(secs(1)),
    );
    #[retry(hedge = "200ms", attempts = 1, breaker = DB)]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    DB.try_acquire().unwrap().failure();
    sleep(secs(1)).await;
    let service = Service::of([(secs(1), Ok(1))]);
    assert_eq!(fetch(&service).await, Ok(1));
    assert_eq!(service.seen(), (1, 0));
    let snapshot = DB.snapshot();
    assert_eq!((DB.state(), snapshot.probes), (State::HalfOpen, 0));
}

#[tokio::test(start_paused = true)]
async fn a_losing_hedge_counts_as_an_abandoned_call() {
    static DB: CircuitBreaker = CircuitBreaker::new(
        "db",
        BreakerConfig::new().failure_threshold(1).abandoned_after(millis(250)),
    );
    #[retry(hedge = "200ms", breaker = DB)]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    let quickly = Service::of([(SLOW, Ok(1)), (millis(10), Ok(2))]);
    assert_eq!(fetch(&quickly).await, Ok(2));
    assert_eq!(DB.state(), State::Closed, "given up after 210 ms");
    let slowly = Service::of([(SLOW, Ok(1)), (millis(100), Ok(2))]);
    assert_eq!(fetch(&slowly).await, Ok(2));
    assert_eq!(DB.state(), State::Open, "given up after 300 ms, though the call succeeded");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_opens_the_breaker_by_the_timeout_of_the_attempt() {
    static DB: CircuitBreaker =
        CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(1));
    #[retry(hedge = "200ms", timeout = "1s", attempts = 1, breaker = DB)]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    fetch(&Service::of([(SLOW, Ok(1))])).await.unwrap_err();
    assert_eq!(DB.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn each_costs_a_token_that_a_win_does_not_bring_back() {
    static OUT: RetryQuota = RetryQuota::new(
        "out",
        QuotaConfig::new().capacity(10).retry_cost(5).timeout_cost(5).success_refund(0),
    );
    #[retry(hedge = "200ms", quota = OUT)]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    for left in [5, 0] {
        let service = Service::of([(SLOW, Ok(1)), (millis(10), Ok(2))]);
        assert_eq!(fetch(&service).await, Ok(2));
        assert_eq!(OUT.available(), left);
    }
    let service = Service::of([(secs(1), Ok(1)), (millis(10), Ok(2))]);
    assert_eq!(fetch(&service).await, Ok(1), "an empty quota allows no hedge");
    assert_eq!(service.seen(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn none_begins_after_the_call_was_cancelled() {
    #[retry(hedge = "200ms", cancel = stop.notified())]
    async fn fetch(service: &Service, stop: &Notify) -> Result<u32, Failure> {
        service.call().await
    }
    let stop = Notify::new();
    let service = Service::of([(secs(1), Ok(1))]);
    let cancelling = async {
        sleep(millis(100)).await;
        stop.notify_one();
    };
    let (outcome, ()) = tokio::join!(fetch(&service, &stop), cancelling);
    assert_eq!(outcome, Ok(1));
    assert_eq!(service.seen(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_call_drops_all_of_them() {
    let service = Service::of([(SLOW, Ok(1))]);
    timeout(secs(1), fetch(&service)).await.unwrap_err();
    assert_eq!(service.seen(), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_one_is_that_of_the_call() {
    #[retry(hedge = "200ms", context = cx)]
    async fn fetch() -> Result<u32, Failure> {
        assert!(cx.hedge() == 0, "hedges panic");
        sleep(SLOW).await;
        Ok(1)
    }
    let panicked = tokio::spawn(fetch()).await.unwrap_err();
    assert!(panicked.is_panic());
}

#[tokio::test(start_paused = true)]
async fn events_and_counters_include_hedges() {
    #[retry(hedge(after = "200ms", max = 2), name = "hedge.counted")]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    let (told, listening) = crate::hedge::listen("hedge.counted");
    let service = Service::of([(SLOW, Ok(1)), (SLOW, Ok(2)), (millis(1), Ok(3))]);
    assert_eq!(fetch(&service).await, Ok(3));
    listening.stop();
    assert_eq!(
        *told.lock().unwrap(),
        [
            "hedge.counted: attempt 1 has not answered in 200ms, hedge 1 begins",
            "hedge.counted: attempt 1 has not answered in 200ms, hedge 2 begins",
            "hedge.counted: hedge 2 of attempt 1 succeeded first",
        ]
    );
    let site = sites().into_iter().find(|site| site.name() == "hedge.counted").unwrap();
    let stats = site.stats();
    assert_eq!((stats.hedges, stats.hedge_wins), (2, 1));
    assert_eq!((stats.attempts, stats.retries), (0, 0), "nothing failed");
    let report = retry_runtime::report().to_string();
    assert!(
        report.contains("hedge.counted hedged: 2 attempts joined others, 1 of them won"),
        "{report}"
    );
}

type Told = std::sync::Arc<Mutex<Vec<String>>>;

/// Collects what is told of a function.
fn listen(name: &'static str) -> (Told, retry_runtime::Listening) {
    let told = Told::default();
    let heard = Told::clone(&told);
    let listening = retry_runtime::on_event(move |event| {
        if event.name() == name {
            heard.lock().unwrap().push(event.to_string());
        }
    });
    (told, listening)
}

const HEDGED: Policy = policy!(attempts = 2, hedge(after = "200ms", max = 2));

#[tokio::test(start_paused = true)]
async fn alone_the_word_means_the_hedge_of_the_policy_and_unlimited_none() {
    #[retry(policy = HEDGED, hedge)]
    async fn hedged(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    #[retry(policy = HEDGED, hedge = unlimited)]
    async fn alone(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    #[retry(policy = policy, hedge)]
    async fn given(service: &Service, policy: &Policy) -> Result<u32, Failure> {
        service.call().await
    }
    let slow = || Service::of([(secs(1), Ok(1))]);
    let service = slow();
    hedged(&service).await.unwrap();
    assert_eq!(service.seen(), (3, 2));
    let service = slow();
    alone(&service).await.unwrap();
    assert_eq!(service.seen(), (1, 0));
    for (policy, calls) in [(HEDGED, 3), (Policy::new(), 1), (HEDGED.with_hedge(Bound::None), 1)] {
        let service = slow();
        given(&service, &policy).await.unwrap();
        assert_eq!(service.seen().0, calls, "{policy}");
    }
}

#[tokio::test(start_paused = true)]
async fn its_delay_may_be_known_only_at_runtime() {
    struct Client {
        hedge: Option<Duration>,
        service: Service,
    }

    impl Client {
        #[retry(hedge = self.hedge, name = "hedge.of_runtime")]
        async fn fetch(&self) -> Result<u32, Failure> {
            self.service.call().await
        }
    }

    for (hedge, calls) in [(Some(millis(100)), 2), (None, 1), (Some(Duration::ZERO), 1)] {
        let client = Client { hedge, service: Service::of([(secs(1), Ok(1))]) };
        client.fetch().await.unwrap();
        assert_eq!(client.service.seen().0, calls, "{hedge:?}");
    }
    let site = sites().into_iter().find(|site| site.name() == "hedge.of_runtime").unwrap();
    let fields: Vec<_> = site.runtime().iter().map(Field::name).collect();
    assert_eq!(fields, ["hedge"]);
}

#[tokio::test(start_paused = true)]
async fn a_policy_of_runtime_with_a_hedge_is_reported_by_a_function_without() {
    #[retry(policy = policy, name = "hedge.ignored")]
    async fn fetch(service: &Service, policy: &Policy) -> Result<u32, Failure> {
        service.call().await
    }
    let (told, listening) = listen("hedge.ignored");
    for _ in 0..2 {
        let service = Service::of([(secs(1), Err(Failure::Busy(1)))]);
        fetch(&service, &HEDGED).await.unwrap_err();
    }
    listening.stop();
    let told = told.lock().unwrap();
    let warned: Vec<_> = told.iter().filter(|event| event.contains("hedge` beside")).collect();
    assert_eq!(warned.len(), 1, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn values_that_are_retried_wait_for_the_others_too() {
    #[retry(hedge = "200ms", attempts = 1)]
    async fn poll(service: &Service) -> Option<u32> {
        service.call().await.ok()
    }
    #[retry(hedge = "200ms", attempts = 1, retry_on = [ok(|code: &u32| *code == 202)])]
    async fn plain(service: &Service) -> u32 {
        service.call().await.unwrap_or(202)
    }
    let script = || Service::of([(millis(300), Err(Failure::Busy(1))), (secs(1), Ok(2))]);
    assert_eq!(poll(&script()).await, Some(2));
    assert_eq!(plain(&script()).await, 2);
}

#[tokio::test(start_paused = true)]
async fn it_borrows_clones_and_stays_send() {
    struct Client {
        service: Service,
    }

    impl Client {
        #[retry(hedge = "200ms", clone(body), timeout = "10s")]
        async fn put<'a, T: Sync + ?Sized>(
            &'a self,
            key: &str,
            of: &T,
            body: Vec<u8>,
            limit: u32,
        ) -> Result<&'a u32, Failure> {
            let owned: Vec<u8> = body;
            let _ = (key, of, owned, limit);
            self.service.call().await?;
            Ok(&7)
        }
    }

    fn is_send<F: Future + Send>(future: F) -> F {
        future
    }

    let client = Client { service: Service::of([(SLOW, Ok(1)), (millis(1), Ok(2))]) };
    let key = "key".to_owned();
    let put = is_send(client.put(&key, "of", vec![1], 3));
    assert_eq!(put.await, Ok(&7));
    assert_eq!(client.service.seen(), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_block_is_hedged_like_a_function() {
    let service = Service::of([(SLOW, Ok(1)), (millis(1), Ok(2))]);
    let outcome: Result<u32, Failure> =
        retrying!(name = "hedge.block", hedge = "200ms", async { service.call().await }).await;
    assert_eq!(outcome, Ok(2));
    let outcome = retrying!(name = "hedge.block.context", hedge = "200ms", async |cx| -> Result<
        u32,
        Failure,
    > {
        if cx.hedge() == 0 {
            sleep(SLOW).await;
        }
        Ok(cx.hedge())
    })
    .await;
    assert_eq!(outcome, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn matchers_decide_which_failures_wait() {
    #[retry(hedge = "200ms", attempts = 1, retry_on = [rate_limit, when(Failure::is_busy)])]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    let service = Service::of([(millis(300), Err(Failure::Busy(1))), (secs(1), Ok(2))]);
    assert_eq!(fetch(&service).await, Ok(2));
    let service = Service::of([(millis(300), Err(Failure::Corrupt)), (secs(1), Ok(2))]);
    assert_eq!(fetch(&service).await, Err(Failure::Corrupt));
    let _ = rate_limit;
}

#[tokio::test(start_paused = true)]
async fn the_delay_may_follow_a_percentile_of_the_calls() {
    #[retry(hedge = p95)]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    for _ in 0..100 {
        let service = Service::of([(millis(100), Ok(1))]);
        fetch(&service).await.unwrap();
        assert_eq!(service.seen(), (1, 0), "it is warming up");
    }
    let service = Service::of([(SLOW, Ok(1)), (millis(1), Ok(2))]);
    let start = Instant::now();
    assert_eq!(fetch(&service).await, Ok(2));
    let took = start.elapsed();
    assert!(took > millis(100) && took < millis(115), "{took:?}");
    let service = Service::of([(millis(100), Ok(1))]);
    fetch(&service).await.unwrap();
    assert_eq!(service.seen(), (1, 0), "most calls are not hedged");
}

/// Makes a hundred fast calls, and then 400 slow ones. Returns how many hedges the first fifty slow
/// calls made, and how many the last fifty.
async fn hedges_of_slow_calls<F: Future>(
    slow: (Duration, Result<u32, Failure>),
    fetch: impl Fn(Service) -> F,
) -> (usize, usize) {
    async fn hedges_of<F: Future>(
        calls: usize,
        answer: &(Duration, Result<u32, Failure>),
        fetch: impl Fn(Service) -> F,
    ) -> usize {
        let made = Arc::default();
        for _ in 0..calls {
            fetch(Service { calls: Arc::clone(&made), ..Service::of([answer.clone()]) }).await;
        }
        made.made() - calls
    }
    assert_eq!(hedges_of(100, &(millis(50), Ok(1)), &fetch).await, 0);
    let first = hedges_of(50, &slow, &fetch).await;
    hedges_of(300, &slow, &fetch).await;
    (first, hedges_of(50, &slow, &fetch).await)
}

#[tokio::test(start_paused = true)]
async fn attempts_that_are_cut_off_count_for_the_percentile() {
    #[retry(attempts = 1, hedge = p95, timeout = "1s")]
    async fn with_timeout(service: Service) -> Result<u32, Failure> {
        service.call().await
    }
    #[retry(attempts = 1, hedge = p95, deadline = "1s")]
    async fn with_deadline(service: Service) -> Result<u32, RetryError<Failure>> {
        service.call().await
    }
    #[retry(attempts = 1, hedge = p95)]
    async fn dropped(service: Service) -> Result<u32, Failure> {
        service.call().await
    }
    async fn in_a_block(service: Service) -> Result<u32, Failure> {
        retrying!(name = "hedge.block.cut", attempts = 1, hedge = p95, timeout = "1s", async {
            service.call().await
        })
        .await
    }
    let hangs = || (SLOW, Ok(1));
    assert_eq!(hedges_of_slow_calls(hangs(), with_timeout).await, (50, 0));
    assert_eq!(hedges_of_slow_calls(hangs(), with_deadline).await, (50, 0));
    assert_eq!(hedges_of_slow_calls(hangs(), in_a_block).await, (50, 0));
    let dropped = |service| timeout(secs(1), dropped(service));
    assert_eq!(hedges_of_slow_calls(hangs(), dropped).await, (50, 0));
}

#[tokio::test(start_paused = true)]
async fn failures_count_for_the_percentile_only_if_they_are_slow() {
    #[retry(attempts = 1, hedge = p95)]
    async fn fetch(service: Service) -> Result<u32, Failure> {
        service.call().await
    }
    let slow = hedges_of_slow_calls((secs(1), Err(Failure::Corrupt)), fetch).await;
    assert_eq!(slow, (50, 0));

    #[retry(attempts = 1, hedge = p95)]
    async fn search(service: Service) -> Result<u32, Failure> {
        service.call().await
    }
    let fast = hedges_of_slow_calls((millis(1), Err(Failure::Corrupt)), search).await;
    assert_eq!(fast, (0, 0));
    let service = Service::of([(millis(50), Ok(1))]);
    let calls = Arc::clone(&service.calls);
    search(service).await.unwrap();
    assert_eq!(calls.made(), 1, "the failures have not lowered the percentile");
}

#[tokio::test(start_paused = true)]
async fn hedges_follow_a_percentile_again_after_a_brownout() {
    #[retry(attempts = 1, hedge = p95, timeout = "1s")]
    async fn fetch(service: &Service) -> Result<u32, Failure> {
        service.call().await
    }
    let make = async |calls, takes| {
        for _ in 0..calls {
            let _ = fetch(&Service::of([(takes, Ok(1))])).await;
        }
    };
    make(2000, millis(50)).await;
    make(500, SLOW).await;
    let service = Service::of([(SLOW, Ok(1))]);
    let _ = fetch(&service).await;
    assert_eq!(service.seen(), (1, 1));
    make(5000, millis(50)).await;
    let service = Service::of([(SLOW, Ok(1)), (millis(50), Ok(2))]);
    assert_eq!(fetch(&service).await, Ok(2));
}

#[tokio::test(start_paused = true)]
async fn a_retrier_hedges_by_its_policy() {
    static DB: CircuitBreaker =
        CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(2));
    static OUT: RetryQuota = RetryQuota::new("out", QuotaConfig::new().success_refund(0));
    let retrier =
        Retrier::new(HEDGED).abort_on([rate_limit]).when(Failure::is_busy).breaker(&DB).quota(&OUT);
    let service = Service::of([(SLOW, Ok(1)), (SLOW, Ok(2)), (millis(50), Ok(3))]);
    let start = Instant::now();
    assert_eq!(retrier.run(|| service.call()).await.unwrap(), 3);
    assert_eq!((start.elapsed(), service.seen()), (millis(450), (3, 2)));
    assert_eq!(OUT.available(), 490);

    let service = Service::of([
        (millis(300), Err(Failure::Busy(1))),
        (millis(300), Err(Failure::Busy(2))),
        (millis(300), Ok(3)),
    ]);
    assert_eq!(retrier.run(|| service.call()).await.unwrap(), 3);
    assert_eq!(DB.state(), State::Open, "two failures in a row came before the success");
    DB.reset();

    let service = Service::of([(millis(300), Err(Failure::Corrupt)), (SLOW, Ok(2))]);
    let error = retrier.run(|| service.call()).await.unwrap_err();
    assert_eq!((error.reason(), service.seen()), (Reason::NotRetryable, (2, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_retrier_cuts_an_attempt_off_with_its_hedges() {
    let retrier = Retrier::new(HEDGED.timeout(secs(1)));
    let service = Service::of([(SLOW, Ok(1))]);
    let start = Instant::now();
    let error = retrier.run(|| service.call()).await.unwrap_err();
    assert_eq!((error.attempts(), start.elapsed()), (2, secs(3)));
    assert_eq!(service.seen(), (6, 6));
}

#[tokio::test(start_paused = true)]
async fn state_that_passes_from_attempt_to_attempt_cannot_be_in_two_of_them() {
    let retrier = Retrier::new(HEDGED);
    let service = Service::of([(secs(1), Ok(1))]);
    let (state, outcome) = retrier
        .run_with(7, async |state, _| {
            let outcome = service.call().await;
            (state, outcome)
        })
        .await;
    assert_eq!((state, outcome.unwrap(), service.seen()), (Some(7), 1, (1, 0)));
}

#[tokio::test(start_paused = true)]
async fn a_boxed_method_is_hedged_too() {
    #[async_trait::async_trait]
    trait Asks: Send + Sync {
        async fn ask(&self, service: &Service, by: String) -> Result<u32, Failure>;
    }

    struct Client;

    #[async_trait::async_trait]
    impl Asks for Client {
        #[retry(hedge = "200ms", clone(by), context = cx)]
        async fn ask(&self, service: &Service, by: String) -> Result<u32, Failure> {
            drop(by);
            service.call().await.map(|answer| answer + 10 * cx.hedge())
        }
    }

    let service = Service::of([(SLOW, Ok(1)), (millis(1), Ok(2))]);
    let client: Box<dyn Asks> = Box::new(Client);
    assert_eq!(client.ask(&service, "it".to_owned()).await, Ok(12));
}

#[tokio::test(start_paused = true)]
async fn matchers_run_once_without_hedges() {
    #[retry(hedge = "200ms", attempts = 1, retry_on = [when(|_| asked.make() > 0)])]
    async fn fetch(service: &Service, asked: &Calls) -> Result<u32, Failure> {
        service.call().await
    }
    let asked = Calls::new();
    let service = Service::of([(millis(100), Err(Failure::Busy(1)))]);
    fetch(&service, &asked).await.unwrap_err();
    assert_eq!(asked.made(), 1);
}
