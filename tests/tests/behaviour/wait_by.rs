//! `wait_by`: the program's own wait after a failure, or the end of the call, in every door.

use std::ops::ControlFlow::{Break, Continue};
use std::time::Duration;

use retry_runtime::durable::{CallState, Decision, Failed};
use retry_runtime::tower::RetryLayer;
use retry_runtime::{Policy, Reason, Retrier, RetryError, retry, retrying};
use tokio::time::sleep;
use tower::{Layer as _, Service as _, service_fn};

use crate::support::{Calls, Failure, millis, secs};

#[tokio::test(start_paused = true)]
async fn it_gets_the_attempt_the_error_and_the_wait_that_is_due() {
    #[retry(
        attempts = 5,
        max_delay = "3s",
        retry_after = Failure::wait,
        wait_by = |attempt, error, wait| match (attempt, error) {
            (2, Failure::Busy(2)) => Continue(2 * wait),
            (3, Failure::SlowDown(hint)) => Continue(*hint + wait),
            _ => Continue(wait),
        }
    )]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        match calls.make() {
            3 => Err(Failure::SlowDown(secs(10))),
            call => Err(Failure::Busy(call)),
        }
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(1), secs(4), secs(20), secs(3)]);
}

#[tokio::test(start_paused = true)]
async fn its_wait_is_not_jittered_and_bypasses_no_bound() {
    #[retry(attempts = 3, jitter = full, wait_by = |_, _: &Failure, _| Continue(secs(7)))]
    async fn jittered(calls: &Calls) -> Result<(), Failure> {
        calls.make();
        Err(Failure::Busy(1))
    }
    #[retry(budget = "10s", wait_by = |_, _, wait| Continue(wait + secs(4)))]
    async fn budget(calls: &Calls) -> Result<(), RetryError<Failure>> {
        calls.make();
        Err(Failure::Busy(1))
    }
    #[retry(deadline = "10s", wait_by = |_, _, _| Continue(secs(10)))]
    async fn deadline() -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(1))
    }
    let calls = Calls::new();
    jittered(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(7), secs(7)]);
    let calls = Calls::new();
    assert_eq!(budget(&calls).await.unwrap_err().reason(), Reason::Budget);
    assert_eq!(calls.gaps(), [secs(5)]);
    assert_eq!(deadline().await.unwrap_err().reason(), Reason::Deadline);
}

#[tokio::test(start_paused = true)]
async fn a_break_ends_the_call_as_not_retryable() {
    #[retry(attempts = 5, wait_by = |attempt, _, wait| if attempt < 2 { Continue(wait) } else { Break(()) })]
    async fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(1))
    }
    let error = fetch().await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRetryable, 2));
}

/// Attempts and matchers decide first.
#[tokio::test(start_paused = true)]
async fn it_is_not_asked_where_no_attempt_follows_anyway() {
    #[retry(attempts = 2, abort_on = [matches(Failure::Corrupt)], wait_by = |_, _, wait| {
        asked.make();
        Continue(wait)
    })]
    async fn fetch(asked: &Calls, failure: fn() -> Failure) -> Result<(), RetryError<Failure>> {
        Err(failure())
    }
    let asked = Calls::new();
    let error = fetch(&asked, || Failure::Corrupt).await.unwrap_err();
    assert_eq!((error.reason(), asked.made()), (Reason::NotRetryable, 0));
    let error = fetch(&asked, || Failure::Busy(1)).await.unwrap_err();
    assert_eq!((error.reason(), asked.made()), (Reason::Attempts, 1));
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_zero_does_not_make_unlimited_attempts_endless() {
    #[retry(attempts = unlimited, budget = "10s", wait_by = |_, _, _| Continue(Duration::ZERO))]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        calls.make();
        Err(Failure::Busy(1))
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_ruling_of_the_attempt_wins() {
    #[retry(attempts = 3, context = cx, wait_by = |_, _, _| Break(()))]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        if calls.make() == 1 {
            cx.retry_after(secs(30));
        }
        Err(Failure::Busy(1))
    }
    let calls = Calls::new();
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!((error.reason(), calls.gaps()), (Reason::NotRetryable, vec![secs(30)]));
}

#[tokio::test(start_paused = true)]
async fn the_number_goes_on_over_a_reset() {
    #[retry(attempts = 2, context = cx, wait_by = |attempt, _, _| Continue(secs(1) * attempt))]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        if calls.make() == 2 {
            cx.reset();
        }
        Err(Failure::Busy(1))
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(1), secs(2)]);
}

/// An attempt that is cut off, and a value, have no error to judge.
#[tokio::test(start_paused = true)]
async fn without_an_error_the_curve_applies() {
    #[retry(attempts = 2, timeout = "5s", wait_by = |_, _, _| Continue(secs(60)))]
    async fn hang(calls: &Calls) -> Result<(), RetryError<Failure>> {
        calls.make();
        sleep(secs(100)).await;
        Ok(())
    }
    #[retry(attempts = 2, retry_on = [ok(|it| *it == 0)], wait_by = |_, _, _| Continue(secs(60)))]
    async fn poll(calls: &Calls) -> Result<u32, RetryError<Failure>> {
        calls.make();
        Ok(0)
    }
    let calls = Calls::new();
    hang(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(6)]);
    let calls = Calls::new();
    assert_eq!(poll(&calls).await.unwrap(), 0);
    assert_eq!(calls.gaps(), [secs(1)]);
}

#[tokio::test(start_paused = true)]
async fn a_block_has_it() {
    let (calls, pause) = (Calls::new(), secs(9));
    let failed: Result<(), Failure> = retrying!(
        name = "wait_by.block",
        attempts = 3,
        wait_by = |_, _, wait| Continue(pause + wait),
        async {
            calls.make();
            Err(Failure::Busy(1))
        }
    )
    .await;
    failed.unwrap_err();
    assert_eq!(calls.gaps(), [secs(10), secs(11)]);
}

#[test]
fn a_function_that_is_not_async_has_it() {
    #[retry(attempts = 3, wait_by = |_, _, _| Continue(Duration::ZERO))]
    fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(1))
    }
    let error = fetch().unwrap_err();
    assert_eq!((error.attempts(), error.waited()), (3, Duration::ZERO));
}

fn retrier() -> Retrier<retry_runtime::retrier::ForError<Failure>> {
    Retrier::new(Policy::new().attempts(4)).wait_by(|attempt, error: &Failure, wait| match error {
        Failure::Corrupt => Break(()),
        Failure::SlowDown(hint) => Continue(*hint + wait),
        _ => Continue(millis(100) * attempt),
    })
}

fn fail(calls: &Calls) -> Result<(), Failure> {
    match calls.make() {
        1 => Err(Failure::Busy(1)),
        2 => Err(Failure::SlowDown(secs(10))),
        _ => Err(Failure::Corrupt),
    }
}

const GAPS: [Duration; 2] = [millis(100), secs(12)];

#[tokio::test(start_paused = true)]
async fn a_retrier_has_it() {
    let calls = Calls::new();
    let error = retrier().run(|| async { fail(&calls) }).await.unwrap_err();
    assert_eq!((error.reason(), calls.gaps()), (Reason::NotRetryable, GAPS.to_vec()));
}

#[tokio::test(start_paused = true)]
async fn a_layer_has_it() {
    static CALLS: Calls = Calls::new();
    let service = service_fn(|()| async { fail(&CALLS) });
    let mut service = RetryLayer::new(retrier()).layer(service);
    let error = service.call(()).await.unwrap_err();
    assert_eq!((error.reason(), CALLS.gaps()), (Reason::NotRetryable, GAPS.to_vec()));
}

#[test]
fn a_blocking_call_has_it() {
    let retrier = Retrier::new(Policy::new().attempts(9));
    let mut waits = vec![millis(1), millis(2)];
    let call = retrier.blocking(|| Err::<(), _>(Failure::Busy(1)));
    let call = call.wait_by(|_, _, _| waits.pop().map_or(Break(()), Continue));
    let error = call.call().unwrap_err();
    assert_eq!((error.reason(), error.waited()), (Reason::NotRetryable, millis(3)));
    assert!(waits.is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_call_has_it_after_its_retrier() {
    let (calls, mut seen) = (Calls::new(), Vec::new());
    let retrier = retrier();
    let call = retrier.run(|| async { fail(&calls) }).on_retry(|_| ());
    let call = call.wait_by(|attempt, error: &Failure, wait| {
        seen.push((attempt, matches!(error, Failure::Busy(_)), wait));
        Continue(wait + secs(1))
    });
    let error = call.on_retry(|_| ()).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRetryable, 3));
    assert_eq!(calls.gaps(), GAPS.map(|gap| gap + secs(1)));
    assert_eq!(seen, [(1, true, GAPS[0]), (2, false, GAPS[1])]);
}

#[test]
fn a_stored_call_has_it() {
    let (retrier, mut state) = (retrier(), CallState::default());
    let busy = Failed::now(&Failure::Busy(1));
    assert_eq!(retrier.decide(&mut state, &busy), Decision::Wait(millis(100)));
    assert_eq!(retrier.decide(&mut state, &busy), Decision::Wait(millis(200)));
    let decision = retrier.decide(&mut state, &Failed::now(&Failure::Corrupt));
    assert_eq!(decision, Decision::GiveUp(Reason::NotRetryable));
}
