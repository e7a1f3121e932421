//! `breaker_on`: which failures count for a breaker; and calls that wait for it.

use std::cell::Cell;
use std::io::{Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Policy, Reason, RemoteState, Retrier, RetryError, State, retry,
};
use tokio::time::Instant;

const S: Duration = Duration::from_secs(1);

const ONE: BreakerConfig = BreakerConfig::new()
    .failure_threshold(1)
    .success_threshold(1)
    .half_open_requests(1)
    .timeout(Duration::from_mins(1));

fn breaker() -> CircuitBreaker {
    CircuitBreaker::named("asked".to_owned(), ONE)
}

#[retry(attempts = 1, breaker = breaker, retry_on = [network])]
async fn ask(breaker: &CircuitBreaker, kind: ErrorKind) -> Result<(), RetryError<Error>> {
    Err(Error::from(kind))
}

#[tokio::test(start_paused = true)]
async fn retryable_failures_count_and_others_are_successes() {
    let breaker = breaker();
    ask(&breaker, ErrorKind::NotFound).await.unwrap_err();
    assert_eq!(breaker.state(), State::Closed);
    ask(&breaker, ErrorKind::ConnectionReset).await.unwrap_err();
    assert_eq!(breaker.state(), State::Open);
    tokio::time::advance(61 * S).await;
    // The answer is negative, but it is an answer: the probe closes the breaker.
    ask(&breaker, ErrorKind::NotFound).await.unwrap_err();
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_streak_ends_at_an_answer() {
    let breaker =
        CircuitBreaker::named("streak".to_owned(), BreakerConfig::new().failure_threshold(2));
    for kind in [ErrorKind::ConnectionReset, ErrorKind::NotFound, ErrorKind::ConnectionReset] {
        ask(&breaker, kind).await.unwrap_err();
    }
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_breaker_may_count_failures_to_connect_alone() {
    #[retry(attempts = 1, breaker = breaker, retry_on = [network], breaker_on = [connect])]
    async fn ask(breaker: &CircuitBreaker, kind: ErrorKind) -> Result<(), RetryError<Error>> {
        Err(Error::from(kind))
    }

    let breaker = breaker();
    ask(&breaker, ErrorKind::ConnectionReset).await.unwrap_err();
    assert_eq!(breaker.state(), State::Closed);
    ask(&breaker, ErrorKind::ConnectionRefused).await.unwrap_err();
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn breaker_on_selects_the_failures_that_count() {
    #[retry(attempts = 2, breaker = breaker, retry_on = [network], breaker_on = [matches(error if error.kind() == ErrorKind::NotFound)])]
    async fn ask(breaker: &CircuitBreaker, kind: ErrorKind) -> Result<(), RetryError<Error>> {
        Err(Error::from(kind))
    }

    let breaker = breaker();
    let error = ask(&breaker, ErrorKind::ConnectionReset).await.unwrap_err();
    assert_eq!((error.reason(), breaker.state()), (Reason::Attempts, State::Closed));
    let error = ask(&breaker, ErrorKind::NotFound).await.unwrap_err();
    assert_eq!((error.reason(), breaker.state()), (Reason::NotRetryable, State::Open));
}

#[tokio::test(start_paused = true)]
async fn the_policys_own_timeout_always_counts() {
    #[retry(attempts = 1, breaker = breaker, timeout = "2s", deadline = "2s", breaker_on = [rate_limit], retry_on = [rate_limit])]
    async fn hang(breaker: &CircuitBreaker) -> Result<(), RetryError<Error>> {
        tokio::time::sleep(9 * S).await;
        Ok(())
    }

    let breaker = breaker();
    hang(&breaker).await.unwrap_err();
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn attempts_cut_off_by_a_deadline_or_cancelled_do_not_count() {
    #[retry(attempts = 1, breaker = breaker, deadline = "2s")]
    async fn hang(breaker: &CircuitBreaker) -> Result<(), RetryError<Error>> {
        tokio::time::sleep(9 * S).await;
        Ok(())
    }

    let breaker =
        CircuitBreaker::named("neither".to_owned(), BreakerConfig::new().failure_threshold(2));
    ask(&breaker, ErrorKind::ConnectionReset).await.unwrap_err();
    hang(&breaker).await.unwrap_err();
    let _ = tokio::time::timeout(S, hang(&breaker)).await;
    assert_eq!(breaker.snapshot().consecutive_failures, 1);
}

#[tokio::test(start_paused = true)]
async fn a_retried_value_is_a_success_unless_breaker_on_selects_it() {
    #[retry(attempts = 1, breaker = breaker, retry_on = [ok(|n: &u32| *n == 0)])]
    async fn poll(breaker: &CircuitBreaker) -> Result<u32, RetryError<Error>> {
        Ok(0)
    }

    #[retry(attempts = 1, breaker = breaker, breaker_on = [ok(|n: &u32| *n == 0)])]
    async fn judged(breaker: &CircuitBreaker) -> Result<u32, RetryError<Error>> {
        Ok(0)
    }

    let breaker = breaker();
    poll(&breaker).await.unwrap();
    assert_eq!(breaker.state(), State::Closed);
    judged(&breaker).await.unwrap();
    assert_eq!(breaker.state(), State::Open);
}

#[retry(attempts = 4, breaker = breaker, when_open = wait, budget = "5m")]
async fn patient(breaker: &CircuitBreaker, calls: &Cell<u32>) -> Result<u32, RetryError<Error>> {
    calls.set(calls.get() + 1);
    if calls.get() < 2 { Err(Error::from(ErrorKind::ConnectionReset)) } else { Ok(calls.get()) }
}

#[tokio::test(start_paused = true)]
async fn a_call_may_wait_until_the_breaker_admits_it() {
    let (breaker, calls, began) = (breaker(), Cell::new(0), Instant::now());
    // The first attempt opens it for 60 s.
    assert_eq!(patient(&breaker, &calls).await.unwrap(), 2);
    assert!((59 * S..=61 * S).contains(&began.elapsed()), "{:?}", began.elapsed());
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn it_waits_before_its_first_attempt_too() {
    let (breaker, calls, began) = (breaker(), Cell::new(5), Instant::now());
    breaker.try_acquire().unwrap().failure();
    assert_eq!(patient(&breaker, &calls).await.unwrap(), 6);
    assert!(began.elapsed() >= 59 * S);
}

#[tokio::test(start_paused = true)]
async fn each_refusal_uses_up_an_attempt_and_is_none() {
    let (breaker, calls) = (breaker(), Cell::new(5));
    breaker.try_acquire().unwrap().failure();
    let began = Instant::now();
    let reopen = async {
        // Each time, it opens again before the call can probe it.
        loop {
            tokio::time::sleep(59 * S).await;
            breaker.follow(RemoteState::Open(61 * S));
        }
    };
    let error = tokio::select! {
        outcome = patient(&breaker, &calls) => outcome.unwrap_err(),
        () = reopen => unreachable!("it reopens the breaker for ever"),
    };
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 0));
    assert_eq!(calls.get(), 5);
    assert!(began.elapsed() > 100 * S, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_breaker_that_is_forced_open_ends_the_call_at_once() {
    let (breaker, began) = (breaker(), Instant::now());
    breaker.force_open();
    let error = patient(&breaker, &Cell::new(0)).await.unwrap_err();
    assert_eq!((error.reason(), began.elapsed()), (Reason::CircuitOpen, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn the_wait_counts_for_the_budget() {
    #[retry(attempts = 4, breaker = breaker, when_open = wait, budget = "30s")]
    async fn hurried(breaker: &CircuitBreaker) -> Result<(), RetryError<Error>> {
        Ok(())
    }

    let (breaker, began) = (breaker(), Instant::now());
    breaker.try_acquire().unwrap().failure();
    let error = hurried(&breaker).await.unwrap_err();
    assert_eq!((error.reason(), began.elapsed()), (Reason::Budget, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_while_it_waits_for_the_breaker_makes_no_attempt() {
    #[retry(attempts = unlimited, breaker = breaker, when_open = wait, cancel = tokio::time::sleep_until(stop))]
    async fn stoppable(breaker: &CircuitBreaker, stop: Instant) -> Result<(), RetryError<Error>> {
        Ok(())
    }

    let (breaker, began) = (breaker(), Instant::now());
    breaker.try_acquire().unwrap().failure();
    let error = stoppable(&breaker, began + 9 * S).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 0));
    assert_eq!(began.elapsed(), 9 * S);
    // Already cancelled, so it does not start to wait.
    let error = stoppable(&breaker, began).await.unwrap_err();
    assert_eq!((error.reason(), began.elapsed()), (Reason::Cancelled, 9 * S));
}

#[tokio::test(start_paused = true)]
async fn a_breaker_that_only_observes_is_not_waited_for() {
    let breaker = CircuitBreaker::named("observing".to_owned(), ONE.observe_only());
    let (calls, began) = (Cell::new(0), Instant::now());
    assert_eq!(patient(&breaker, &calls).await.unwrap(), 2);
    assert_eq!(began.elapsed(), S, "the curve's first wait");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_only_waited_has_not_recovered() {
    #[retry(attempts = 2, breaker = breaker, when_open = wait, context = cx, name = "breaker_on.waiting")]
    async fn waiting(breaker: &CircuitBreaker) -> Result<bool, RetryError<Error>> {
        Ok(cx.number() == 1 && cx.is_last())
    }

    let breaker = breaker();
    breaker.try_acquire().unwrap().failure();
    assert!(waiting(&breaker).await.unwrap(), "the refusal has used one up");
    let sites = retry_runtime::sites();
    let site = sites.iter().find(|site| site.name() == "breaker_on.waiting").unwrap();
    assert_eq!((site.stats().attempts, site.stats().recovered), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_conflict_never_counts() {
    #[retry(attempts = 3, breaker = breaker)]
    async fn everything(breaker: &CircuitBreaker, text: &str) -> Result<(), RetryError<String>> {
        Err(text.to_owned())
    }
    #[retry(attempts = 3, breaker = breaker, retry_on = [conflict], breaker_on = [transient])]
    async fn transient(breaker: &CircuitBreaker, text: &str) -> Result<(), RetryError<String>> {
        Err(text.to_owned())
    }
    #[retry(attempts = 3, breaker = breaker, retry_on = [transient], breaker_on = [when(|_| true)])]
    async fn whatever(breaker: &CircuitBreaker, text: &str) -> Result<(), RetryError<String>> {
        Err(text.to_owned())
    }

    let conflict = "ERROR 1213 (40001): Deadlock found when trying to get lock";
    for call in [
        everything(&breaker(), conflict).await,
        transient(&breaker(), conflict).await,
        whatever(&breaker(), conflict).await,
    ] {
        let error = call.unwrap_err();
        assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 3));
    }
    let broken = breaker();
    transient(&broken, "connection reset by peer").await.unwrap_err();
    assert_eq!(broken.state(), State::Open);

    let locked = Arc::new(breaker());
    let retrier = Retrier::new(Policy::new().attempts(3).initial_delay(Duration::ZERO))
        .breaker(Arc::clone(&locked));
    let error = retrier.run(async || Err::<(), _>("database is locked")).await.unwrap_err();
    assert_eq!((error.attempts(), locked.state()), (3, State::Closed));
}
