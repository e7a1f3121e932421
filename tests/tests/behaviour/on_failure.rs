//! `on_failure`: what happens when the call gives up.

use retry_runtime::{Interrupted, Missing, Reason, RetryError, retry};
use tokio::time::sleep;

use crate::support::{Calls, Failure, listen, millis, secs, take_events};

#[tokio::test(start_paused = true)]
async fn stop_returns_the_error() {
    #[retry(attempts = 2, on_failure = stop)]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    assert_eq!(fetch(&Calls::new()).await, Err(Failure::Busy(2)));
}

#[tokio::test(start_paused = true)]
async fn continue_goes_on_with_the_default_and_reports() {
    #[retry(attempts = 2, on_failure = continue)]
    async fn result() -> Result<Vec<u8>, Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(attempts = 2, on_failure = continue)]
    async fn option() -> Option<u32> {
        None
    }
    #[retry(attempts = 2, on_failure = continue)]
    async fn with_reason() -> Result<String, RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    #[retry(attempts = 2, on_failure = continue, retry_on = [ok(|n: &u32| *n > 0)])]
    async fn plain() -> u32 {
        7
    }
    #[retry(attempts = 2, backoff = fixed, initial_delay = "1ms", on_failure = continue)]
    fn not_async() -> Result<u32, Failure> {
        Err(Failure::Corrupt)
    }
    listen();
    assert_eq!(result().await, Ok(Vec::new()));
    assert_eq!(take_events().last().unwrap().field("reason"), Some("attempts"));
    assert_eq!(option().await, Some(0));
    assert_eq!(with_reason().await, Ok(String::new()));
    assert_eq!(plain().await, 0);
    assert_eq!(tokio::task::spawn_blocking(not_async).await.unwrap(), Ok(0));
}

#[tokio::test(start_paused = true)]
async fn a_fallback_is_not_called_after_a_success() {
    #[retry(on_failure = fallback(|_| -> u32 { unreachable!() }))]
    async fn fetch(calls: &Calls) -> Result<u32, Failure> {
        match calls.make() {
            3 => Ok(3),
            call => Err(Failure::Busy(call)),
        }
    }
    assert_eq!(fetch(&Calls::new()).await, Ok(3));
}

#[tokio::test(start_paused = true)]
async fn a_fallback_receives_the_reason() {
    fn report(error: RetryError<Failure>) -> String {
        assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 3));
        assert_eq!(error.waited(), secs(3));
        format!("instead of {:?}", error.into_last())
    }
    #[retry(on_failure = fallback(report))]
    async fn fetch(calls: &Calls) -> Result<String, Failure> {
        Err(Failure::Busy(calls.make()))
    }
    assert_eq!(fetch(&Calls::new()).await.unwrap(), "instead of Some(Busy(3))");
}

#[tokio::test(start_paused = true)]
async fn a_fallback_may_be_sync_or_async_and_give_a_value_or_a_result() {
    async fn later(value: u32) -> u32 {
        sleep(millis(5)).await;
        value
    }
    async fn later_result(value: u32) -> Result<u32, Failure> {
        sleep(millis(5)).await;
        if value > 0 { Ok(value) } else { Err(Failure::Corrupt) }
    }
    #[retry(attempts = 2, on_failure = fallback(|_| id + 1))]
    async fn value(id: u32) -> Result<u32, Failure> {
        Err(Failure::Busy(id))
    }
    #[retry(attempts = 2, on_failure = fallback(|error: RetryError<Failure>| Err(error.into_last().unwrap())))]
    async fn result(id: u32) -> Result<u32, Failure> {
        Err(Failure::Busy(id))
    }
    #[retry(attempts = 2, on_failure = fallback(|_| later(id)))]
    async fn future(id: u32) -> Result<u32, Failure> {
        Err(Failure::Busy(id))
    }
    #[retry(attempts = 2, on_failure = fallback(|_| later_result(id)))]
    async fn future_of_a_result(id: u32) -> Result<u32, Failure> {
        Err(Failure::Busy(id))
    }
    #[retry(attempts = 2, on_failure = fallback(async |_| id + 2))]
    async fn async_closure(id: u32) -> Result<u32, Failure> {
        Err(Failure::Busy(id))
    }
    assert_eq!(value(7).await, Ok(8));
    assert_eq!(result(7).await, Err(Failure::Busy(7)));
    assert_eq!(future(7).await, Ok(7));
    assert_eq!(future_of_a_result(7).await, Ok(7));
    assert_eq!(future_of_a_result(0).await, Err(Failure::Corrupt));
    assert_eq!(async_closure(7).await, Ok(9));
}

#[tokio::test(start_paused = true)]
async fn a_fallback_of_an_option_and_of_a_retry_error() {
    #[retry(attempts = 2, on_failure = fallback(|error: RetryError<Missing>| error.attempts()))]
    async fn option() -> Option<u32> {
        None
    }
    #[retry(attempts = 2, on_failure = fallback(|error: RetryError<Failure>| Err(error)))]
    async fn with_reason() -> Result<u32, RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    assert_eq!(option().await, Some(2));
    let error = with_reason().await.unwrap_err();
    assert_eq!((error.attempts(), error.last()), (2, Some(&Failure::Corrupt)));
}

#[tokio::test(start_paused = true)]
async fn a_fallback_after_a_value_that_is_retried_has_no_last_error() {
    #[retry(
        attempts = 2,
        retry_on = [ok(|page: &u32| *page < 9)],
        on_failure = fallback(|error: RetryError<Failure>| {
            assert!(error.last().is_none());
            assert_eq!(error.interrupted(), Some(&Interrupted::Value));
            assert_eq!(error.to_string(), "gave up after 2 attempts and 1s of waiting (all attempts were used)");
            0
        })
    )]
    async fn page(calls: &Calls) -> Result<u32, Failure> {
        Ok(calls.make())
    }
    assert_eq!(page(&Calls::new()).await, Ok(0));
}

#[test]
fn a_function_that_is_not_async_falls_back_at_once() {
    #[retry(attempts = 2, backoff = fixed, initial_delay = "1ms", on_failure = fallback(|_| name.len()))]
    fn fetch(name: &str) -> Result<usize, Failure> {
        let _ = name;
        Err(Failure::Corrupt)
    }
    assert_eq!(fetch("seven"), Ok(5));
}
