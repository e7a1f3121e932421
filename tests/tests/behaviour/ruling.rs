//! Rulings where an error is raised: `cx.give_up()` and `cx.retry_after(…)`.

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
async fn it_retries_what_no_matcher_would() {
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
async fn a_breaker_goes_by_the_failure_and_not_by_the_word() {
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
fn a_function_that_is_not_async_says_it_too() {
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
