//! `on_retry`: called for each failure that will be retried.

use std::time::Duration;

use retry_runtime::{Attempts, Interrupted, RetryError, RetryEvent, retry};
use tokio::time::{Instant, sleep};

use crate::support::{Calls, Failure, secs};

#[tokio::test(start_paused = true)]
async fn the_callback_receives_everything_before_each_wait() {
    type Seen = Vec<(u32, Option<Failure>, Duration, Duration, Duration)>;
    #[retry(attempts = 3, name = "billing", on_retry = |event| {
        assert_eq!((event.name(), event.attempts()), ("billing", Attempts::Limited(3)));
        let error = event.error().cloned();
        seen.push((event.attempt(), error, event.wait(), event.waited(), start.elapsed()));
    })]
    async fn fetch(calls: &Calls, seen: &mut Seen, start: Instant) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let mut seen = Seen::new();
    fetch(&Calls::new(), &mut seen, Instant::now()).await.unwrap_err();
    assert_eq!(
        seen,
        [
            (1, Some(Failure::Busy(1)), secs(1), secs(0), secs(0)),
            (2, Some(Failure::Busy(2)), secs(2), secs(1), secs(1)),
        ],
        "and not of the last failure, which is not retried"
    );
}

#[tokio::test(start_paused = true)]
async fn it_reads_as_a_sentence() {
    #[retry(attempts = unlimited, deadline = "9s", name = "a", on_retry = |event| lines.push(event.to_string()))]
    async fn fetch(lines: &mut Vec<String>) -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(attempts = 2, backoff = fixed, initial_delay = "1500ms", name = "b", on_retry = |event| lines.push(event.to_string()))]
    async fn slower(lines: &mut Vec<String>) -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    let mut lines = Vec::new();
    fetch(&mut lines).await.unwrap_err();
    slower(&mut lines).await.unwrap_err();
    assert_eq!(lines[1], "a: attempt 2 of unlimited failed, next in 2s: corrupt");
    assert_eq!(lines.last().unwrap(), "b: attempt 1 of 2 failed, next in 1.5s: corrupt");
}

#[tokio::test(start_paused = true)]
async fn a_value_and_a_timeout_have_no_error_of_their_own() {
    type Seen = Vec<Option<Interrupted>>;
    fn see(seen: &mut Seen, event: &RetryEvent<'_, Failure>) {
        assert_eq!(event.failure().ok(), event.error());
        assert_eq!(event.failure().err(), event.interrupted());
        seen.push(event.failure().err().cloned());
    }
    #[retry(attempts = 2, retry_on = [ok(|n: &u32| *n < 9)], on_retry = |event| see(seen, event))]
    async fn value(seen: &mut Seen) -> Result<u32, Failure> {
        Ok(1)
    }
    #[retry(attempts = 2, timeout = "1s", on_retry = |event| see(seen, event))]
    async fn interrupted(seen: &mut Seen) -> Result<u32, RetryError<Failure>> {
        sleep(secs(9)).await;
        Ok(1)
    }
    #[retry(attempts = 2, on_retry = |event| see(seen, event))]
    async fn failed(seen: &mut Seen) -> Result<u32, Failure> {
        Err(Failure::Corrupt)
    }
    let mut seen = Seen::new();
    value(&mut seen).await.unwrap();
    interrupted(&mut seen).await.unwrap_err();
    failed(&mut seen).await.unwrap_err();
    assert_eq!(seen, [Some(Interrupted::Value), Some(Interrupted::timeout(secs(1))), None]);
}

#[test]
fn it_may_be_a_function_and_the_call_not_async() {
    static CALLS: Calls = Calls::new();
    fn note(event: &RetryEvent<'_, Failure>) {
        assert_eq!(event.error(), Some(&Failure::Corrupt));
        CALLS.make();
    }
    #[retry(attempts = 3, backoff = fixed, initial_delay = "1ms", on_retry = note)]
    fn fetch() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    fetch().unwrap_err();
    assert_eq!(CALLS.made(), 2);
}
