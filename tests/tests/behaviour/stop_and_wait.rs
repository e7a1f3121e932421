//! The end of a call and its waits, as users of other libraries rely on them: the stop and wait
//! conditions of tenacity, the retry strategies of Polly, backon's options and the
//! policies of `tower::retry`.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    Attempts, Backoff, Interrupted, Jitter, Policy, QuotaConfig, Reason, Retrier, RetryError,
    RetryQuota, retry,
};
use tokio::time::{Instant, sleep, timeout};
use tower::{Layer as _, ServiceExt as _, service_fn};

use crate::support::{Calls, Failure, millis, secs};

/// The end of a call whose attempts all fail, and the gaps between them.
async fn fail_by(policy: Policy) -> (RetryError<Failure>, Vec<Duration>) {
    let calls = Calls::new();
    let fail = || {
        let call = calls.make();
        async move { Err::<(), _>(Failure::Busy(call)) }
    };
    let error = Retrier::new(policy).run(fail).await.unwrap_err();
    (error, calls.gaps())
}

#[tokio::test(start_paused = true)]
async fn a_call_stops_after_so_many_attempts_with_the_error_of_the_last() {
    for attempts in 1..=4 {
        let (error, gaps) = fail_by(Policy::new().attempts(attempts)).await;
        assert_eq!((error.attempts(), error.reason()), (attempts, Reason::Attempts));
        assert_eq!(error.into_last(), Some(Failure::Busy(attempts)));
        assert_eq!(gaps.len(), attempts as usize - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn zero_retries_are_one_attempt_and_the_maximum_does_not_overflow() {
    let (error, gaps) = fail_by(Policy::new().retries(0)).await;
    assert_eq!((error.attempts(), gaps), (1, vec![]));
    assert_eq!(Policy::new().retries(u32::MAX).get_attempts(), Attempts::Limited(u32::MAX));
}

#[tokio::test(start_paused = true)]
async fn a_call_stops_before_a_wait_that_would_pass_the_delay_and_not_after_it() {
    // As opposed to stopping at the first failure after the delay.
    let policy = Policy::new().attempts(9).backoff(Backoff::Fixed).initial_delay(secs(3));
    let begun = Instant::now();
    let (error, gaps) = fail_by(policy.budget(secs(10))).await;
    assert_eq!(
        (error.reason(), gaps, begun.elapsed()),
        (Reason::Budget, vec![secs(3); 3], secs(9))
    );
    let begun = Instant::now();
    let (error, _) = fail_by(policy.max_elapsed(secs(10))).await;
    assert_eq!((error.reason(), begun.elapsed()), (Reason::MaxElapsed, secs(9)));
}

#[tokio::test(start_paused = true)]
async fn whichever_condition_holds_first_stops_the_call() {
    let policy = Policy::new().backoff(Backoff::Fixed).attempts(3).budget(secs(10));
    assert_eq!(fail_by(policy).await.0.reason(), Reason::Attempts);
    assert_eq!(fail_by(policy.attempts(99)).await.0.reason(), Reason::Budget);
    let policy = policy.attempts(99).deadline(secs(5));
    assert_eq!(fail_by(policy).await.0.reason(), Reason::Deadline);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_counts_from_its_own_beginning() {
    let retrier = Retrier::new(Policy::new().backoff(Backoff::Fixed).deadline(secs(3)).attempts(9));
    sleep(secs(60)).await;
    for _ in 0..2 {
        let error = retrier.run(|| async { Err::<(), _>(Failure::Corrupt) }).await.unwrap_err();
        assert_eq!((error.attempts(), error.waited()), (3, secs(2)));
    }
}

#[tokio::test(start_paused = true)]
async fn waits_are_fixed_incrementing_or_exponential_up_to_a_maximum() {
    let policy = Policy::new().attempts(6).max_delay(secs(10));
    let increment = Backoff::Linear { increment: secs(4) };
    for (backoff, waits) in [
        (Backoff::Fixed, [2, 2, 2, 2, 2]),
        (increment, [2, 6, 10, 10, 10]),
        (Backoff::Exponential { base: 2.0 }, [2, 4, 8, 10, 10]),
    ] {
        let (_, gaps) = fail_by(policy.initial_delay(secs(2)).backoff(backoff)).await;
        assert_eq!(gaps, waits.map(secs), "{backoff:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn waits_are_chained_one_after_the_other_and_the_last_goes_on() {
    let chain = Backoff::custom(vec![secs(3), secs(3), secs(7)]);
    let policy = Policy::new().attempts(6).backoff(chain).max_delay(secs(9));
    assert_eq!(fail_by(policy).await.1, [3, 3, 7, 9, 9].map(secs));
}

#[tokio::test(start_paused = true)]
async fn the_first_retry_may_be_made_at_once() {
    let policy = Policy::new().attempts(4).backoff(Backoff::Fixed).initial_delay(secs(2));
    assert_eq!(fail_by(policy.first_delay(Duration::ZERO)).await.1, [0, 2, 2].map(secs));
}

#[tokio::test(start_paused = true)]
async fn a_random_wait_is_within_its_bounds_and_another_one_each_time() {
    let policy = Policy::new().attempts(200).backoff(Backoff::Fixed).initial_delay(secs(10));
    let (_, gaps) = fail_by(policy.jitter(Jitter::Full)).await;
    assert!(gaps.iter().all(|gap| *gap <= secs(10) + millis(1)));
    let distinct: std::collections::HashSet<_> = gaps.iter().collect();
    assert!(distinct.len() > 150, "{} of {}", distinct.len(), gaps.len());
    let mean = gaps.iter().sum::<Duration>() / 199;
    assert!(secs(4) < mean && mean < secs(6), "{mean:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_the_error_names_replaces_the_curve_and_may_be_longer_than_its_maximum() {
    let retrier = Retrier::new(Policy::new().max_delay(secs(2))).retry_after(Failure::wait);
    let calls = Calls::new();
    let fail = || {
        let asked = if calls.make() == 1 { secs(30) } else { secs(0) };
        async move { Err::<(), _>(Failure::SlowDown(asked)) }
    };
    retrier.run(fail).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(30), secs(0)]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_without_a_handler_is_returned_immediately() {
    let calls = Calls::new();
    let result = Retrier::new(Policy::new().attempts(9))
        .run(|| {
            let error = if calls.make() < 3 { Failure::Busy(1) } else { Failure::Corrupt };
            async move { Err::<(), _>(error) }
        })
        .when(Failure::is_busy)
        .await;
    let error = result.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRetryable, 3));
    assert_eq!(error.into_error(), Failure::Corrupt);
}

#[tokio::test(start_paused = true)]
async fn a_result_is_retried_until_it_is_the_wanted_one() {
    let left = Cell::new(3_u32);
    let done = Retrier::new(Policy::new().attempts(9))
        .retry_on_value(|left: &u32| *left > 0)
        .run(|| {
            left.set(left.get() - 1);
            let left = left.get();
            async move { Ok::<_, Failure>(left) }
        })
        .await;
    assert_eq!(done, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn a_listener_runs_before_each_wait_and_not_at_the_end() {
    let mut heard = Vec::new();
    let begun = Instant::now();
    let error = Retrier::new(Policy::new())
        .run(|| async { Err::<(), _>(Failure::Corrupt) })
        .on_retry(|event| heard.push((event.attempt(), event.wait(), begun.elapsed())))
        .await
        .unwrap_err();
    assert_eq!(error.attempts(), 3);
    assert_eq!(heard, [(1, secs(1), secs(0)), (2, secs(2), secs(1))]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_it_waits_makes_no_further_attempt() {
    let calls = Calls::new();
    let retrier = Retrier::new(Policy::new().attempts(9));
    let call = retrier.run(|| {
        let call = calls.make();
        async move { Err::<(), _>(Failure::Busy(call)) }
    });
    timeout(millis(1_500), call).await.unwrap_err();
    sleep(secs(60)).await;
    assert_eq!(calls.made(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_hanging_attempt_times_out_and_is_retried() {
    let calls = Calls::new();
    let result = Retrier::new(Policy::new().timeout(secs(2)))
        .run(|| {
            let call = calls.make();
            async move {
                sleep(if call == 1 { secs(60) } else { secs(1) }).await;
                Ok::<_, Failure>(call)
            }
        })
        .await;
    assert_eq!((result, calls.gaps()), (Ok(2), vec![secs(3)]));
}

#[tokio::test(start_paused = true)]
async fn the_statistics_of_a_call_are_in_its_error() {
    let error = fail_by(Policy::new().attempts(4)).await.0;
    assert_eq!((error.attempts(), error.waited()), (4, secs(7)));
    assert_eq!(error.interrupted(), None);
    assert_eq!(error.into_error(), Failure::Busy(4));
}

#[tokio::test(start_paused = true)]
async fn a_mutable_context_is_handed_from_attempt_to_attempt() {
    struct Connection {
        reconnects: u32,
    }
    let (connection, result) = Retrier::new(Policy::new())
        .run_with(Connection { reconnects: 0 }, |mut connection, cx| async move {
            connection.reconnects += 1;
            let result = if cx.is_last() { Ok(cx.waited()) } else { Err(Failure::Busy(1)) };
            (connection, result)
        })
        .await;
    assert_eq!((connection.unwrap().reconnects, result), (3, Ok(secs(3))));
}

#[tokio::test(start_paused = true)]
async fn a_retrier_at_rest_forgets_nothing_between_calls() {
    // Each call starts at the beginning of the backoff, however the previous call ended.
    let retrier = Retrier::new(Policy::new().attempts(9));
    for _ in 0..2 {
        let calls = Calls::new();
        let result = retrier
            .run(|| {
                let call = calls.make();
                async move { if call < 3 { Err(Failure::Busy(call)) } else { Ok(()) } }
            })
            .await;
        assert_eq!((result, calls.gaps()), (Ok(()), vec![secs(1), secs(2)]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_repeats_the_same_request_until_it_is_answered() {
    let calls = Arc::new(Calls::new());
    let made = Arc::clone(&calls);
    let service = RetryLayer::new(Retrier::new(Policy::new().attempts(4))).layer(service_fn(
        move |request: String| {
            let call = made.make();
            async move { if call < 3 { Err(Failure::Busy(call)) } else { Ok(request) } }
        },
    ));
    assert_eq!(service.oneshot("tea".to_owned()).await, Ok("tea".to_owned()));
    assert_eq!(calls.gaps(), [secs(1), secs(2)]);
}

#[tokio::test(start_paused = true)]
async fn a_budget_of_retries_is_shared_by_all_calls_of_a_service() {
    // Enough for two retries: the budget is shared, so the second call gets none.
    let quota = Arc::new(RetryQuota::new("service", QuotaConfig::new().capacity(10)));
    let retrier = Retrier::new(Policy::new()).quota(quota.clone());
    let service =
        RetryLayer::new(retrier).layer(service_fn(|()| async { Err::<(), _>(Failure::Corrupt) }));
    let mut ends = Vec::new();
    for _ in 0..2 {
        let error = service.clone().oneshot(()).await.unwrap_err();
        ends.push((error.attempts(), error.reason()));
    }
    assert_eq!(ends, [(3, Reason::Attempts), (1, Reason::Quota)]);
}

#[tokio::test(start_paused = true)]
async fn an_annotated_function_and_a_retrier_give_the_same_error_back() {
    #[retry(attempts = 2, timeout = "1s")]
    async fn annotated() -> Result<(), RetryError<Failure>> {
        sleep(secs(60)).await;
        Ok(())
    }
    let retrier = Retrier::new(Policy::new().attempts(2).timeout(secs(1)));
    let hang = || async {
        sleep(secs(60)).await;
        Ok::<(), Failure>(())
    };
    let (one, other) = (annotated().await.unwrap_err(), retrier.run(hang).await.unwrap_err());
    assert_eq!(one, other);
    assert!(matches!(one.into_error(), Failure::Interrupted(Interrupted::Timeout { .. })));
}
