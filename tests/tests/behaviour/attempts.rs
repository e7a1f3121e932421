//! `attempts`: calls in all, the first included.

use retry_runtime::{Backoff, Bound, Policy, Reason, Retrier, RetryError, retry};

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
async fn zero_attempts_still_make_one_call() {
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

#[tokio::test(start_paused = true)]
async fn a_loop_without_waits_continues_without_a_budget() {
    #[retry(attempts = unlimited, budget = unlimited, backoff = fixed, initial_delay = "0s")]
    async fn halve(batch: &mut usize) -> Result<(), Failure> {
        if *batch > 1 {
            *batch /= 2;
            return Err(Failure::Busy(0));
        }
        Ok(())
    }

    let (mut batch, began) = (1 << 20, tokio::time::Instant::now());
    assert_eq!(halve(&mut batch).await, Ok(()));
    assert_eq!((batch, began.elapsed()), (1, secs(0)));
}

#[tokio::test(start_paused = true)]
async fn a_loop_without_waits_lets_other_tasks_run() {
    #[retry(attempts = unlimited, budget = unlimited, backoff = fixed, initial_delay = "0s")]
    async fn spin(over: &std::cell::Cell<bool>) -> Result<(), Failure> {
        if over.get() { Ok(()) } else { Err(Failure::Busy(0)) }
    }

    let over = std::cell::Cell::new(false);
    let other = async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        over.set(true);
    };
    let (outcome, ()) = tokio::join!(spin(&over), other);
    assert_eq!(outcome, Ok(()));
}

#[test]
fn a_blocking_loop_without_waits_continues_too() {
    #[retry(attempts = unlimited, budget = unlimited, backoff = fixed, initial_delay = "0s")]
    fn count(left: &mut u32) -> Result<(), Failure> {
        *left -= 1;
        if *left > 0 { Err(Failure::Busy(*left)) } else { Ok(()) }
    }

    let mut left = 10_000;
    assert_eq!(count(&mut left), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_policy_of_runtime_may_mean_it_as_well() {
    #[retry(policy = policy)]
    async fn count(policy: &Policy, left: &mut u32) -> Result<(), Failure> {
        *left -= 1;
        if *left > 0 { Err(Failure::Busy(*left)) } else { Ok(()) }
    }

    let policy = Policy::new()
        .unlimited()
        .with_budget(Bound::Unlimited)
        .backoff(Backoff::Fixed)
        .initial_delay(secs(0));
    let mut left = 10_000;
    assert_eq!(count(&policy, &mut left).await, Ok(()));
}
