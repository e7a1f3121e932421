//! Rulings where an error is raised: `cx.give_up()`, `cx.retry_after(…)` and `cx.reset()`.

use std::cell::Cell;
use std::io::{Error, ErrorKind};
use std::time::Duration;

use retry_runtime::{Attempt, BreakerConfig, CircuitBreaker, Reason, RetryError, State, retry};
use tokio::time::Instant;

const S: Duration = Duration::from_secs(1);

fn refuse(cx: &Attempt, status: u16) -> Result<(), Error> {
    match status {
        200 => return Ok(()),
        401 => cx.give_up(),
        429 => cx.retry_after(40 * S),
        _ => {}
    }
    Err(Error::from(ErrorKind::ConnectionReset))
}

#[retry(attempts = 3, context = cx)]
async fn fetch(statuses: &[u16]) -> Result<(), RetryError<Error>> {
    let status = statuses[cx.number() as usize - 1];
    tokio::task::yield_now().await;
    refuse(cx, status)?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn giving_up_wins_over_every_matcher() {
    let error = fetch(&[500, 401, 200]).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRetryable, 2));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_the_attempt_names_is_that_of_a_server() {
    let began = Instant::now();
    fetch(&[429, 500, 200]).await.unwrap();
    // Longer than `max_delay`; afterwards the backoff continues.
    assert_eq!(began.elapsed(), 42 * S);
}

#[tokio::test(start_paused = true)]
async fn it_does_not_win_over_the_attempts() {
    let error = fetch(&[429, 429, 429]).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 3));
}

#[tokio::test(start_paused = true)]
async fn a_ruling_retries_a_failure_that_no_matcher_names() {
    #[retry(retry_on = [rate_limit], context = cx)]
    async fn limited(calls: &Cell<u32>) -> Result<u32, Error> {
        calls.set(calls.get() + 1);
        if calls.get() == 1 {
            cx.retry_after(S);
            return Err(Error::from(ErrorKind::NotFound));
        }
        Ok(calls.get())
    }
    assert_eq!(limited(&Cell::new(0)).await.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_breaker_counts_the_failure_and_not_its_text() {
    static DB: CircuitBreaker =
        CircuitBreaker::new("ruling", BreakerConfig::new().failure_threshold(1));

    #[retry(breaker = DB, context = cx)]
    async fn query() -> Result<(), RetryError<Error>> {
        cx.give_up();
        Err(Error::from(ErrorKind::ConnectionReset))
    }
    assert_eq!(query().await.unwrap_err().reason(), Reason::NotRetryable);
    assert_eq!(DB.state(), State::Open);
}

#[test]
fn a_sync_function_can_rule_too() {
    #[retry(context = cx)]
    fn read(calls: &mut u32) -> Result<(), Error> {
        *calls += 1;
        refuse(cx, 401)
    }
    let mut calls = 0;
    read(&mut calls).unwrap_err();
    assert_eq!(calls, 1);
}

#[test]
fn the_future_stays_send() {
    fn is_send<T: Send>(_: T) {}
    is_send(fetch(&[]));
}

/// Sessions of this many seconds, each of which ends in a failure; 0 is one that never began.
#[retry(attempts = 2, jitter = none, context = cx, budget = "2s")]
async fn listen(sessions: &[u64], numbers: &Cell<u32>) -> Result<(), RetryError<Error>> {
    numbers.set(cx.number());
    let seconds = sessions.get(cx.number() as usize - 1).copied().unwrap_or(0);
    if seconds > 0 {
        tokio::time::sleep(S * u32::try_from(seconds).unwrap()).await;
        cx.reset();
    }
    Err(Error::from(ErrorKind::ConnectionReset))?
}

#[tokio::test(start_paused = true)]
async fn a_reset_restarts_attempts_budget_and_backoff_but_not_the_count() {
    let numbers = Cell::new(0);
    let began = Instant::now();
    let error = listen(&[60, 60, 60, 0], &numbers).await.unwrap_err();
    // Each good session pays for one more attempt, a second later.
    assert_eq!((error.reason(), error.attempts(), numbers.get()), (Reason::Attempts, 4, 4));
    assert_eq!(error.waited(), 3 * S);
    assert_eq!(began.elapsed(), 183 * S);
    let error = listen(&[], &numbers).await.unwrap_err();
    assert_eq!(error.attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_context_after_a_reset_has_the_last_attempt() {
    #[retry(attempts = 3, context = cx)]
    async fn fetch(last: &Cell<Vec<bool>>) -> Result<(), Error> {
        let mut seen = last.take();
        seen.push(cx.is_last());
        last.set(seen);
        if cx.number() == 2 {
            cx.reset();
        }
        Err(Error::from(ErrorKind::ConnectionReset))
    }
    let last = Cell::default();
    fetch(&last).await.unwrap_err();
    // The second failure counts as the first of three.
    assert_eq!(last.take(), [false, false, false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_continues_over_a_reset() {
    #[retry(attempts = 2, deadline = "10s", context = cx)]
    async fn fetch() -> Result<(), RetryError<Error>> {
        cx.reset();
        Err(Error::from(ErrorKind::ConnectionReset))?
    }
    let error = fetch().await.unwrap_err();
    assert_eq!(error.reason(), Reason::Deadline);
    assert_eq!(error.attempts(), 10);
}
