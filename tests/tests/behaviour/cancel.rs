//! `cancel = …`: a future that ends the current wait.

use std::cell::Cell;
use std::future::{poll_fn, ready};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Interrupted, Policy, QuotaConfig, Reason, Retrier, RetryError,
    RetryQuota, State, retry,
};
use tokio::sync::{Notify, watch};
use tokio::task::coop;
use tokio::time::{Instant, sleep};

const S: Duration = Duration::from_secs(1);

async fn stopped(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

#[retry(attempts = unlimited, initial_delay = "10s", max_delay = "10s", cancel = stopped(stop.clone()))]
async fn reconnect(
    calls: &Cell<u32>,
    stop: &watch::Receiver<bool>,
) -> Result<(), RetryError<String>> {
    calls.set(calls.get() + 1);
    Err("no answer".to_owned())
}

#[tokio::test(start_paused = true)]
async fn it_ends_the_wait_under_way() {
    let (stop, stopping) = watch::channel(false);
    let (calls, began) = (Cell::new(0), Instant::now());
    let stop_later = async {
        tokio::time::sleep(25 * S).await;
        stop.send(true).unwrap();
    };
    let (outcome, ()) = tokio::join!(reconnect(&calls, &stopping), stop_later);
    let error = outcome.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 3));
    assert_eq!(error.last().map(String::as_str), Some("no answer"));
    assert_eq!((began.elapsed(), calls.get()), (25 * S, 3));
    assert_eq!(error.waited(), 25 * S, "the last wait lasted 5 s of its 10 s");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_already_makes_no_attempt() {
    let (_stop, stopping) = watch::channel(true);
    let (calls, began) = (Cell::new(0), Instant::now());
    let error = reconnect(&calls, &stopping).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 0));
    assert_eq!(error.interrupted(), Some(&Interrupted::Cancelled));
    assert_eq!(error.to_string(), "gave up before the first attempt (it was cancelled)");
    assert_eq!((began.elapsed(), calls.get()), (Duration::ZERO, 0));
}

#[tokio::test(start_paused = true)]
async fn an_error_that_cannot_say_so_costs_one_attempt() {
    #[retry(cancel = ready(()))]
    async fn failing(calls: &Cell<u32>) -> Result<(), String> {
        calls.set(calls.get() + 1);
        Err("broken".to_owned())
    }

    let calls = Cell::new(0);
    assert_eq!(failing(&calls).await, Err("broken".to_owned()));
    assert_eq!(calls.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_error_that_can_hold_the_interruption_has_it() {
    #[retry(cancel = ready(()))]
    async fn failing() -> std::io::Result<()> {
        panic!("no attempt is made")
    }

    let error = failing().await.unwrap_err();
    assert_eq!(error.to_string(), "the call was cancelled before its first attempt");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_call_is_that_of_any_other() {
    #[retry(cancel = ready(()), on_failure = continue)]
    async fn continuing() -> std::io::Result<u32> {
        panic!("no attempt is made")
    }

    #[retry(cancel = ready(()), on_failure = fallback(|error| error.attempts()))]
    async fn falling_back() -> std::io::Result<u32> {
        panic!("no attempt is made")
    }

    #[retry(cancel = ready(()), retry_on = [ok(|page: &u32| *page == 0)])]
    async fn polling() -> std::io::Result<u32> {
        panic!("no attempt is made")
    }

    #[retry(cancel = ready(()), retry_on = [ok(|page: &u32| *page == 0)])]
    async fn polling_what_cannot_fail() -> u32 {
        0
    }

    assert_eq!(continuing().await.unwrap(), 0);
    assert_eq!(falling_back().await.unwrap(), 0);
    assert!(polling().await.is_err());
    assert_eq!(polling_what_cannot_fail().await, 0);
}

#[tokio::test(start_paused = true)]
async fn it_may_take_longer_than_each_wait() {
    #[retry(attempts = unlimited, backoff = fixed, initial_delay = "10s", cancel = sleep(25 * S))]
    async fn failing(calls: &Cell<u32>) -> Result<(), RetryError<String>> {
        calls.set(calls.get() + 1);
        Err("broken".to_owned())
    }

    let (calls, began) = (Cell::new(0), Instant::now());
    let error = failing(&calls).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 3));
    assert_eq!(error.last().map(String::as_str), Some("broken"));
    assert_eq!((began.elapsed(), calls.get()), (25 * S, 3));
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_during_an_attempt_is_not_missed() {
    #[retry(attempts = unlimited, backoff = fixed, max_elapsed = "1h", cancel = stop.notified())]
    async fn failing(stop: &Notify) -> Result<(), RetryError<String>> {
        sleep(10 * S).await;
        Err("broken".to_owned())
    }

    let (stop, began) = (Notify::new(), Instant::now());
    let stop_later = async {
        // During the second attempt.
        sleep(15 * S).await;
        stop.notify_waiters();
    };
    let (outcome, ()) = tokio::join!(failing(&stop), stop_later);
    let error = outcome.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 2));
    assert_eq!(began.elapsed(), 21 * S);
}

#[tokio::test(start_paused = true)]
async fn it_is_made_once_a_call() {
    #[retry(attempts = 4, cancel = asked(asks))]
    async fn failing(asks: &Cell<u32>) -> Result<(), String> {
        Err("broken".to_owned())
    }

    fn asked(asks: &Cell<u32>) -> std::future::Pending<()> {
        asks.set(asks.get() + 1);
        std::future::pending()
    }

    let asks = Cell::new(0);
    failing(&asks).await.unwrap_err();
    assert_eq!(asks.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_may_be_an_argument_that_is_consumed() {
    #[retry(attempts = unlimited, initial_delay = "10s", cancel = stop)]
    async fn failing(stop: impl Future<Output = ()>) -> Result<(), RetryError<String>> {
        Err("broken".to_owned())
    }

    let began = Instant::now();
    assert_eq!(failing(sleep(S)).await.unwrap_err().reason(), Reason::Cancelled);
    assert_eq!(began.elapsed(), S);
}

struct Connection {
    stop: Arc<Notify>,
    tries: u32,
}

impl Connection {
    #[retry(attempts = unlimited, initial_delay = "10s", cancel = self.stop.clone().notified_owned())]
    async fn whole(&mut self) -> Result<(), RetryError<String>> {
        self.fail()
    }

    #[retry(attempts = unlimited, initial_delay = "10s", cancel = self.stop.notified())]
    async fn other_fields(&mut self) -> Result<(), RetryError<String>> {
        self.tries += 1;
        Err("broken".to_owned())
    }

    fn fail(&mut self) -> Result<(), String> {
        self.tries += 1;
        Err("broken".to_owned())
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_changes_self_is_cancelled_too() {
    let stop = Arc::new(Notify::new());
    let stop_later = async |after| {
        sleep(after).await;
        stop.notify_waiters();
    };
    let mut connection = Connection { stop: Arc::clone(&stop), tries: 0 };
    let (outcome, ()) = tokio::join!(connection.whole(), stop_later(15 * S));
    assert_eq!(outcome.unwrap_err().attempts(), 2);
    let (outcome, ()) = tokio::join!(connection.other_fields(), stop_later(5 * S));
    assert_eq!(outcome.unwrap_err().attempts(), 1);
    assert_eq!(connection.tries, 3);
}

#[async_trait]
trait Connects {
    async fn connect(&mut self, stop: Arc<Notify>) -> Result<(), RetryError<String>>;
}

#[async_trait]
impl Connects for Connection {
    #[retry(attempts = unlimited, initial_delay = "10s", cancel = stop.notified())]
    async fn connect(&mut self, stop: Arc<Notify>) -> Result<(), RetryError<String>> {
        self.fail().map_err(|error| format!("{error}, {}", Arc::strong_count(&stop)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_method_of_an_async_trait_is_cancelled_too() {
    let stop = Arc::new(Notify::new());
    let mut connection = Connection { stop: Arc::clone(&stop), tries: 0 };
    let stop_later = async {
        sleep(15 * S).await;
        stop.notify_waiters();
    };
    let (outcome, ()) = tokio::join!(connection.connect(Arc::clone(&stop)), stop_later);
    assert_eq!((outcome.unwrap_err().attempts(), connection.tries), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_has_used_up_its_time_sees_it_too() {
    while let Poll::Ready(unit) = poll_fn(|cx| Poll::Ready(coop::poll_proceed(cx))).await {
        unit.made_progress();
    }
    let (stop, stopping) = watch::channel(false);
    stop.send(true).unwrap();
    let calls = Cell::new(0);
    reconnect(&calls, &stopping).await.unwrap_err();
    assert_eq!(calls.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_waiting_for_its_breaker_is_cancelled() {
    let breaker = CircuitBreaker::new("cancelled", BreakerConfig::new());

    #[retry(attempts = 9, breaker = breaker, when_open = wait, cancel = sleep(15 * S))]
    async fn waiting(breaker: &CircuitBreaker) -> Result<(), RetryError<String>> {
        panic!("no attempt is made")
    }

    breaker.restore(State::Open, 0, 60 * S);
    let began = Instant::now();
    let error = waiting(&breaker).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 0));
    assert_eq!((began.elapsed(), error.waited()), (15 * S, 15 * S));
}

#[test]
fn the_future_stays_send() {
    fn is_send<T: Send>(_: T) {}

    let mut connection = Connection { stop: Arc::default(), tries: 0 };
    is_send(connection.whole());
    is_send(connection.other_fields());
}

fn patient() -> Retrier {
    Retrier::new(Policy::new().attempts(9).initial_delay(10 * S))
}

#[expect(clippy::unused_async, reason = "an operation is async")]
async fn failing(calls: &Cell<u32>) -> Result<(), String> {
    calls.set(calls.get() + 1);
    Err("no answer".to_owned())
}

#[tokio::test(start_paused = true)]
async fn it_ends_the_wait_of_a_retrier() {
    let (calls, began) = (Cell::new(0), Instant::now());
    let quota = Arc::new(RetryQuota::new("cancel.quota", QuotaConfig::new()));
    let breaker = Arc::new(CircuitBreaker::new("cancel.breaker", BreakerConfig::new()));
    let guarded = patient().quota(Arc::clone(&quota)).breaker(Arc::clone(&breaker));
    let tokens = quota.available();
    for retrier in [patient(), guarded] {
        calls.set(0);
        let call = retrier.run(|| failing(&calls)).on_retry(|_| {}).cancel(sleep(25 * S));
        let error = call.when(|_| true).await.unwrap_err();
        assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 2));
        assert_eq!(error.last().map(String::as_str), Some("no answer"));
        assert_eq!((error.waited(), calls.get()), (25 * S, 2));
    }
    assert_eq!(began.elapsed(), 50 * S);
    // The first retry was made, and the second one was not.
    assert_eq!(quota.available(), tokens - 5);
}

#[tokio::test(start_paused = true)]
async fn a_retrier_that_is_cancelled_already_makes_no_attempt() {
    let calls = Cell::new(0);
    let error = patient().run(|| failing(&calls)).cancel(ready(())).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 0));
    assert_eq!(error.interrupted(), Some(&Interrupted::Cancelled));
    let retrier = patient();
    let call = retrier.run_with("state", async |state, _| (state, failing(&calls).await));
    let (state, result) = call.cancel(ready(())).await;
    assert_eq!((state, result.unwrap_err().attempts()), (Some("state"), 0));
    assert_eq!(calls.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_running_attempt_of_a_retrier_is_not_cut_off() {
    let (calls, began) = (Cell::new(0), Instant::now());
    let slow = async || {
        sleep(30 * S).await;
        failing(&calls).await
    };
    let error = patient().run(&slow).cancel(sleep(5 * S)).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 1));
    assert_eq!(began.elapsed(), 30 * S);
    let hedged = Retrier::new(Policy::new().attempts(9).hedge(10 * S));
    let error = hedged.run(&slow).cancel(sleep(5 * S)).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts(), calls.get()), (Reason::Cancelled, 1, 2));
    let succeeds = async || {
        sleep(30 * S).await;
        Ok::<_, String>(7)
    };
    assert_eq!(patient().run(succeeds).cancel(sleep(5 * S)).await, Ok(7));
}

#[tokio::test(start_paused = true)]
async fn a_retrier_stops_waiting_for_its_breaker() {
    let breaker = Arc::new(CircuitBreaker::new("cancel.open", BreakerConfig::new()));
    (0..5).for_each(|_| breaker.try_acquire().unwrap().failure());
    assert_eq!(breaker.state(), State::Open);
    let (calls, began) = (Cell::new(0), Instant::now());
    let retrier = patient().breaker(breaker).wait_when_open();
    let error = retrier.run(|| failing(&calls)).cancel(sleep(5 * S)).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 0));
    assert_eq!(error.interrupted(), Some(&Interrupted::Cancelled));
    assert_eq!((began.elapsed(), calls.get()), (5 * S, 0));
}
