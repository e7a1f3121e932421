//! `context`: what the body can find out about the current attempt.

use std::time::Duration;

use retry_runtime::retry;

use crate::support::{Failure, secs};

type Seen = Vec<(u32, bool, Option<Duration>, Duration)>;

#[tokio::test(start_paused = true)]
async fn the_context_has_the_attempt_and_the_waits() {
    #[retry(attempts = 3, context = cx)]
    async fn fetch(seen: &mut Seen) -> Result<(), Failure> {
        seen.push((cx.number(), cx.is_last(), cx.last_delay(), cx.waited()));
        Err(Failure::Corrupt)
    }
    let mut seen = Seen::new();
    fetch(&mut seen).await.unwrap_err();
    assert_eq!(
        seen,
        [
            (1, false, None, secs(0)),
            (2, false, Some(secs(1)), secs(1)),
            (3, true, Some(secs(2)), secs(3)),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn unlimited_attempts_have_no_last() {
    #[retry(attempts = unlimited, budget = "3s", context = cx)]
    async fn fetch(last: &mut Vec<bool>) -> Result<(), Failure> {
        last.push(cx.is_last());
        Err(Failure::Corrupt)
    }
    let mut last = Vec::new();
    fetch(&mut last).await.unwrap_err();
    assert_eq!(last, [false; 3]);
}

#[test]
fn a_function_that_is_not_async_has_it_too() {
    #[retry(attempts = 3, backoff = fixed, initial_delay = "1ms", context = cx)]
    fn fetch() -> Result<u32, Failure> {
        if cx.is_last() { Ok(cx.number()) } else { Err(Failure::Corrupt) }
    }
    assert_eq!(fetch(), Ok(3));
}
