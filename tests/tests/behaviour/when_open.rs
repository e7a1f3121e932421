//! `when_open = wait`: calls that wait until their breaker admits them.

use std::cell::Cell;
use std::future::Future;
use std::io::{Error, ErrorKind};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Interrupted, QuotaConfig, Reason, RetryError, RetryQuota, State,
    retry,
};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::support::until_refused;

const S: Duration = Duration::from_secs(1);

const ONE: BreakerConfig = BreakerConfig::new()
    .failure_threshold(1)
    .success_threshold(1)
    .half_open_requests(1)
    .timeout(Duration::from_mins(1));

fn breaker(config: BreakerConfig) -> Arc<CircuitBreaker> {
    Arc::new(CircuitBreaker::named("awaited".to_owned(), config))
}

/// A breaker that is half-open, and its probe.
fn probing(config: BreakerConfig) -> (Arc<CircuitBreaker>, retry_runtime::OwnedPermit) {
    let breaker = breaker(config);
    breaker.restore(State::HalfOpen, 0, Duration::ZERO);
    let probe = breaker.try_acquire_owned().expect("its open time is over");
    assert_eq!(breaker.state(), State::HalfOpen);
    (breaker, probe)
}

#[retry(attempts = 3, breaker = breaker, when_open = wait, name = "when_open.patient")]
async fn patient(breaker: Arc<CircuitBreaker>, takes: Duration) -> Result<(), RetryError<Error>> {
    sleep(takes).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn all_calls_waiting_behind_a_probe_pass_when_it_succeeds() {
    let (breaker, probe) = probing(ONE);
    let began = Instant::now();
    let mut waiting = JoinSet::new();
    for _ in 0..100 {
        waiting.spawn(patient(Arc::clone(&breaker), Duration::ZERO));
    }
    sleep(Duration::from_millis(4_500)).await;
    probe.success();
    assert!(waiting.join_all().await.iter().all(Result::is_ok));
    assert_eq!(began.elapsed(), Duration::from_millis(4_500));
}

#[tokio::test(start_paused = true)]
async fn without_a_wait_of_its_own_a_call_is_refused_once_and_not_in_a_loop() {
    #[retry(
        attempts = 3,
        backoff = fixed,
        initial_delay = "0s",
        breaker = breaker,
        when_open = wait,
        name = "when_open.eager"
    )]
    async fn eager(breaker: &CircuitBreaker) -> Result<(), RetryError<Error>> {
        Ok(())
    }

    let refusals = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&refusals);
    let _listening = retry_runtime::on_event(move |event| {
        if event.name() == "when_open.eager" {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (breaker, probe) = probing(ONE);
    let began = Instant::now();
    let end_probe = async {
        sleep(Duration::from_millis(100)).await;
        probe.success();
    };
    let (outcome, ()) = tokio::join!(eager(&breaker), end_probe);
    outcome.unwrap();
    assert_eq!(began.elapsed(), Duration::from_millis(100));
    assert_eq!(refusals.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn each_probe_that_ends_lets_one_of_them_through() {
    // So many successes that it stays half-open.
    let (breaker, probe) = probing(ONE.success_threshold(1_000));
    let began = Instant::now();
    let mut waiting = JoinSet::new();
    for _ in 0..20 {
        let patient = patient(Arc::clone(&breaker), Duration::from_millis(100));
        waiting.spawn(async move { patient.await.map(|()| began.elapsed()) });
    }
    sleep(Duration::from_millis(100)).await;
    // Forgiven, because it ended without a word.
    drop(probe);
    let mut ended: Vec<_> = waiting.join_all().await.into_iter().map(Result::unwrap).collect();
    ended.sort();
    let one_by_one: Vec<_> = (2..22).map(|n| Duration::from_millis(100 * n)).collect();
    assert_eq!(ended, one_by_one);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_never_ends_is_not_waited_for_longer_than_it_may_take() {
    #[retry(initial_delay = "5m", max_delay = "5m", breaker = breaker, when_open = wait)]
    async fn slowly(breaker: &CircuitBreaker) -> Result<(), RetryError<Error>> {
        Ok(())
    }

    let (breaker, _probe) = probing(ONE);
    let began = Instant::now();
    slowly(&breaker).await.unwrap();
    assert_eq!(began.elapsed(), 60 * S);
}

#[retry(attempts = 2, breaker = breaker, when_open = wait, budget = "90s", context = cx)]
async fn told(breaker: &CircuitBreaker) -> Result<(Duration, bool), RetryError<Error>> {
    Ok((cx.waited(), cx.is_last()))
}

#[tokio::test(start_paused = true)]
async fn a_refusal_by_the_open_breaker_uses_up_an_attempt_and_one_of_its_probes_does_not() {
    let breaker = breaker(ONE);
    breaker.try_acquire().unwrap().failure();
    assert_eq!(told(&breaker).await.unwrap(), (60 * S, true));

    let (breaker, probe) = probing(ONE);
    let end_probe = async {
        sleep(10 * S).await;
        probe.success();
    };
    let (outcome, ()) = tokio::join!(told(&breaker), end_probe);
    assert_eq!(outcome.unwrap(), (10 * S, false));
}

#[tokio::test(start_paused = true)]
async fn unused_waiting_time_returns_to_the_budget() {
    let breaker = breaker(ONE);
    breaker.try_acquire().unwrap().failure();
    let began = Instant::now();
    let operator = async {
        sleep(7 * S).await;
        breaker.reset();
    };
    let (outcome, ()) = tokio::join!(told(&breaker), operator);
    assert_eq!((outcome.unwrap().0, began.elapsed()), (7 * S, 7 * S));
}

#[tokio::test(start_paused = true)]
async fn a_breaker_that_is_forced_open_meanwhile_ends_the_wait() {
    let (breaker, _probe) = probing(ONE);
    let began = Instant::now();
    let operator = async {
        sleep(S / 2).await;
        breaker.force_open();
    };
    let (outcome, ()) = tokio::join!(told(&breaker), operator);
    let error = outcome.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 0));
    assert!(matches!(error.interrupted(), Some(Interrupted::CircuitOpen { .. })));
    assert_eq!(began.elapsed(), S / 2);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_fails_makes_them_wait_for_the_open_time() {
    let (breaker, probe) = probing(ONE);
    let began = Instant::now();
    let end_probe = async {
        sleep(S / 2).await;
        probe.failure();
    };
    let (outcome, ()) = tokio::join!(patient(Arc::clone(&breaker), Duration::ZERO), end_probe);
    outcome.unwrap();
    assert_eq!(began.elapsed(), S / 2 + 60 * S);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_waiting_call_returns_its_tokens() {
    #[retry(
        attempts = 9,
        backoff = fixed,
        breaker = breaker,
        breaker_on = [timeout],
        when_open = wait,
        quota = quota
    )]
    async fn paying(
        breaker: &CircuitBreaker,
        quota: &RetryQuota,
        calls: &Cell<u32>,
    ) -> Result<(), RetryError<Error>> {
        calls.set(calls.get() + 1);
        Err(ErrorKind::NotFound.into())
    }

    let quota = RetryQuota::new("paying", QuotaConfig::new());
    let (breaker, calls) = (breaker(ONE), Cell::new(0));
    let full = quota.available();
    {
        let mut call = pin!(paying(&breaker, &quota, &calls));
        assert!(poll_once(call.as_mut()).is_pending());
        // During its wait of a second; then the breaker refuses the retry that it paid for.
        breaker.follow(retry_runtime::RemoteState::Open(60 * S));
        tokio::time::advance(S).await;
        assert!(poll_once(call.as_mut()).is_pending());
        assert!(quota.available() < full);
    }
    assert_eq!((quota.available(), calls.get()), (full, 1));
}

fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[retry(attempts = 3, initial_delay = "1h", max_delay = "1h", breaker = breaker, when_open = wait)]
fn blocking(breaker: &CircuitBreaker, running: &Mutex<()>) -> Result<(), RetryError<Error>> {
    let _alone = running.try_lock().expect("one probe at a time");
    thread::yield_now();
    Ok(())
}

#[test]
fn a_thread_that_waits_is_woken() {
    let breaker = breaker(ONE);
    breaker.try_acquire().unwrap().failure();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| blocking(&breaker, &Mutex::new(())));
        until_refused(&breaker, 1);
        breaker.reset();
        waiting.join().unwrap().unwrap();
    });
}

#[test]
fn of_many_threads_none_is_forgotten() {
    // A forgotten call waits for a minute, until a probe would have had to report.
    let began = std::time::Instant::now();
    for _ in 0..50 {
        let (breaker, probe) = probing(ONE.success_threshold(u32::MAX));
        let running = Mutex::new(());
        thread::scope(|scope| {
            let waiting: Vec<_> =
                (0..8).map(|_| scope.spawn(|| blocking(&breaker, &running))).collect();
            until_refused(&breaker, 1);
            probe.success();
            for call in waiting {
                call.join().unwrap().unwrap();
            }
        });
        assert!(began.elapsed() < 50 * S);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_breaker_may_end_in_a_fallback() {
    #[retry(
        attempts = 2,
        breaker = breaker,
        when_open = wait,
        on_failure = fallback(|_| Ok(7)),
        name = "when_open.fallback"
    )]
    async fn falls_back(breaker: &CircuitBreaker) -> Result<u32, Error> {
        Err(ErrorKind::TimedOut.into())
    }
    #[retry(
        attempts = 2,
        breaker = breaker,
        when_open = wait,
        on_failure = continue,
        name = "when_open.continue"
    )]
    async fn continues(breaker: &CircuitBreaker) -> Result<u32, Error> {
        Err(ErrorKind::TimedOut.into())
    }

    assert_eq!(falls_back(&breaker(ONE)).await.unwrap(), 7);
    assert_eq!(continues(&breaker(ONE)).await.unwrap(), 0);
}
