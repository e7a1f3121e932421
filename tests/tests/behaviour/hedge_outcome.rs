//! The outcome of an attempt with hedges, where `hedge/group.rs` does not go: deadlines, matchers of
//! values, and panics of each member.

use std::future::pending;
use std::io;
use std::ops::ControlFlow::Continue;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use retry_runtime::{BreakerConfig, CircuitBreaker, Policy, Reason, Retrier, RetryError, retry};
use tokio::time::{Instant, sleep};

use crate::support::{Calls, Failure, millis, secs};

#[tokio::test(start_paused = true)]
async fn a_deadline_returns_the_failure_of_the_last_member_that_failed() {
    async fn numbered(calls: &Calls) -> Result<u32, Failure> {
        let call = calls.make();
        if call == 3 {
            pending::<()>().await;
        }
        sleep(millis(20)).await;
        Err(Failure::Busy(call))
    }
    #[retry(attempts = 3, initial_delay = "100ms", deadline = "200ms", hedge = "15ms")]
    async fn fetch(calls: &Calls) -> Result<u32, RetryError<Failure>> {
        numbered(calls).await
    }
    // 1 and 2 fail by 35 ms; 3 hangs from 135 ms on, and 4 fails at 170 ms.
    let calls = Calls::new();
    let error = fetch(&calls).await.unwrap_err();
    assert_eq!((error.reason(), error.last()), (Reason::Deadline, Some(&Failure::Busy(4))));

    let calls = Calls::new();
    let policy = Policy::new().attempts(3).initial_delay(millis(100));
    let retrier = Retrier::new(policy.deadline(millis(200)).hedge(millis(15)));
    let error = retrier.run(|| numbered(&calls)).await.unwrap_err();
    assert_eq!((error.reason(), error.last()), (Reason::Deadline, Some(&Failure::Busy(4))));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_a_member_ruled_wins_over_wait_by() {
    #[retry(hedge = "10ms", context = cx, wait_by = |_, _, _| Continue(secs(60)))]
    async fn fetch(calls: &Calls) -> Result<u32, Failure> {
        let call = calls.make();
        if call == 1 {
            cx.retry_after(secs(9));
        }
        sleep(millis(20)).await;
        if call > 2 { Ok(call) } else { Err(Failure::Busy(call)) }
    }
    let (calls, start) = (Calls::new(), Instant::now());
    fetch(&calls).await.unwrap();
    assert_eq!(start.elapsed(), secs(9) + millis(50));
}

#[tokio::test(start_paused = true)]
async fn a_matcher_judges_each_outcome_once() {
    async fn busy(calls: &Calls) -> Result<u32, Failure> {
        let call = calls.make();
        sleep(millis(20)).await;
        Err(Failure::Busy(call))
    }
    #[retry(attempts = 1, hedge = "10ms", retry_on = [when(|_| judged.make() > 0)])]
    async fn fetch(calls: &Calls, judged: &Calls) -> Result<u32, Failure> {
        busy(calls).await
    }
    #[retry(attempts = 1, hedge = "10ms", retry_on = [ok(|_| judged.make() == 1)])]
    async fn poll(calls: &Calls, judged: &Calls) -> Option<u32> {
        busy(calls).await.err().map(|_| 7)
    }

    let (calls, judged) = (Calls::new(), Calls::new());
    fetch(&calls, &judged).await.unwrap_err();
    assert_eq!((calls.made(), judged.made()), (2, 2));

    let (calls, judged) = (Calls::new(), Calls::new());
    assert_eq!(poll(&calls, &judged).await, Some(7));
    assert_eq!((calls.made(), judged.made()), (2, 2));

    let (calls, judged) = (Calls::new(), Calls::new());
    let policy = Policy::new().attempts(1).hedge(millis(10));
    let retrier = Retrier::new(policy).for_error::<Failure, _>();
    retrier.run(|| busy(&calls)).when(|_| judged.make() > 0).await.unwrap_err();
    assert_eq!((calls.made(), judged.made()), (2, 2));

    let (calls, judged) = (Calls::new(), Arc::new(Calls::new()));
    let counting = Arc::clone(&judged);
    let retrier = Retrier::new(policy).retry_on_value(move |_: &u32| counting.make() == 1);
    let value =
        retrier.run(|| async { busy(&calls).await.or(Ok::<u32, io::Error>(7)) }).await.unwrap();
    assert_eq!((value, calls.made(), judged.made()), (7, 2, 2));
}

/// Catches the panic of a future, as a server does around each request.
async fn caught<F: Future>(future: F) -> Result<F::Output, ()> {
    let mut future = Box::pin(future);
    std::future::poll_fn(move |cx| {
        match std::panic::catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => std::task::Poll::Ready(Err(())),
        }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn one_panic_of_a_group_counts_as_one_failure() {
    const CONFIG: BreakerConfig = BreakerConfig::new().failure_threshold(10);

    async fn panics(calls: &AtomicU32, at: u32) -> Result<u32, Failure> {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        sleep(millis(50)).await;
        assert_ne!(call, at, "a member panics");
        pending().await
    }
    #[retry(hedge(after = "10ms", max = 2), breaker = breaker)]
    async fn fetch(calls: &AtomicU32, at: u32, breaker: &CircuitBreaker) -> Result<u32, Failure> {
        panics(calls, at).await
    }
    #[retry(hedge = "10ms", breaker = breaker, retry_on = [when(|_| panic!("a matcher panics"))])]
    async fn judged(calls: &Calls, breaker: &CircuitBreaker) -> Result<u32, Failure> {
        if calls.make() == 1 {
            sleep(millis(20)).await;
            return Err(Failure::Corrupt);
        }
        pending().await
    }

    for at in 0..=2 {
        let breaker = Arc::new(CircuitBreaker::new("attribute", CONFIG));
        caught(fetch(&AtomicU32::new(0), at, &breaker)).await.unwrap_err();
        assert_eq!(breaker.snapshot().consecutive_failures, 1, "member {at}, caught");

        let shared = Arc::clone(&breaker);
        let task = async move { fetch(&AtomicU32::new(0), at, &shared).await };
        tokio::spawn(task).await.unwrap_err();
        assert_eq!(breaker.snapshot().consecutive_failures, 2, "member {at}, in a task");

        let policy = Policy::new().hedge(millis(10)).max_hedges(2);
        let breaker = Arc::new(CircuitBreaker::new("retrier", CONFIG));
        let retrier = Retrier::new(policy).breaker(Arc::clone(&breaker));
        let calls = AtomicU32::new(0);
        caught(retrier.run(|| panics(&calls, at))).await.unwrap_err();
        assert_eq!(breaker.snapshot().consecutive_failures, 1, "member {at} of a retrier, caught");

        let task = async move {
            let calls = AtomicU32::new(0);
            retrier.run(|| panics(&calls, at)).await
        };
        tokio::spawn(task).await.unwrap_err();
        assert_eq!(breaker.snapshot().consecutive_failures, 2, "member {at} of a retrier's task");
    }

    let breaker = CircuitBreaker::new("judged", CONFIG);
    caught(judged(&Calls::new(), &breaker)).await.unwrap_err();
    assert_eq!(breaker.snapshot().consecutive_failures, 1, "of two members");
}
