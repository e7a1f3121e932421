//! `attempts`: calls in all, the first included.

use retry_runtime::{Backoff, Policy, Reason, Retrier, RetryError, retry};

use crate::support::{Calls, Failure, secs};

#[tokio::test(start_paused = true)]
async fn three_attempts_make_three_calls() {
    #[retry(attempts = 3)]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    assert_eq!(fetch(&calls).await, Err(Failure::Busy(3)));
    assert_eq!(calls.made(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_bare_attribute_makes_three_calls_a_second_and_two_apart() {
    #[retry]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(1), secs(2)]);
}

#[tokio::test(start_paused = true)]
async fn one_attempt_is_never_retried() {
    #[retry(attempts = 1)]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!((calls.made(), error.attempts(), error.reason()), (1, 1, Reason::Attempts));
    assert_eq!(error.waited(), secs(0));
}

#[tokio::test(start_paused = true)]
async fn a_success_ends_the_call() {
    #[retry(attempts = 5)]
    async fn fetch(calls: &Calls) -> Result<u32, Failure> {
        match calls.make() {
            3 => Ok(3),
            call => Err(Failure::Busy(call)),
        }
    }
    let calls = Calls::new();
    assert_eq!(fetch(&calls).await, Ok(3));
    assert_eq!(calls.made(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_question_mark_and_a_return_are_retried() {
    #[retry(attempts = 4, backoff = fixed)]
    async fn fetch(calls: &Calls) -> Result<u32, Failure> {
        let call = calls.make();
        if call == 1 {
            return Err(Failure::Busy(call));
        }
        if call == 2 {
            Err(Failure::Busy(call))?;
        }
        if call == 3 { Err(Failure::Busy(call)) } else { Ok(call) }
    }
    assert_eq!(fetch(&Calls::new()).await, Ok(4));
}

#[tokio::test(start_paused = true)]
async fn the_number_may_be_a_constant() {
    const HALF: u32 = 2;
    #[retry(attempts = HALF * 2)]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 4);
}

#[tokio::test(start_paused = true)]
async fn unlimited_attempts_are_ended_by_the_budget() {
    #[retry(attempts = unlimited, backoff = fixed, initial_delay = "1s", budget = "500s")]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!((calls.made(), error.reason()), (501, Reason::Budget));
}

#[test]
fn unlimited_attempts_without_waits_need_more_than_a_budget() {
    let policy = Policy::new().unlimited().backoff(Backoff::Fixed).initial_delay(secs(0));
    assert!(policy.budget(secs(300)).validate().is_err(), "waits of 0s never use it up");
    assert!(policy.deadline(secs(300)).validate().is_ok());
}

#[tokio::test(start_paused = true)]
async fn no_attempts_at_all_still_make_the_one_call() {
    // Attribute and files reject such a policy; a retrier accepts any.
    let calls = Calls::new();
    let error = Retrier::new(Policy::new().attempts(0))
        .run(|| {
            calls.make();
            async { Err::<(), _>("down") }
        })
        .await
        .unwrap_err();
    assert_eq!((calls.made(), error.attempts(), error.reason()), (1, 1, Reason::Attempts));
}
