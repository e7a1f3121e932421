//! `uncounted`, holds, hedges, quotas, bounds and fallbacks at the same time, by all front ends.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use http::{Response, StatusCode};
use retry_runtime::http::StatusError;
use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, Policy, QuotaConfig, Reason, Retrier, RetryError,
    RetryQuota, policy, retry, retrying,
};
use tokio::time::{Instant, sleep};
use tower::{Layer as _, ServiceExt as _, service_fn};

use crate::support::{Calls, Classified, millis, secs};

const LIMIT: Classified = Classified(Class::RATE_LIMIT, Some(secs(30)));
const FAULT: Classified = Classified(Class::NETWORK, None);
const TWO: Policy = policy!(attempts = 2, deadline = "1h");

/// Fails with these errors, and then answers.
fn play(calls: &Calls, errors: &[Classified]) -> Result<u32, Classified> {
    let call = calls.make();
    errors.get(call as usize - 1).map_or(Ok(call), |error| Err(Classified(error.0, error.1)))
}

fn breaker(hold: Option<Duration>) -> Arc<CircuitBreaker> {
    let config = BreakerConfig::new().failure_threshold(3).timeout(secs(20));
    let config = hold.map_or(config, |hold| config.hold(hold));
    Arc::new(CircuitBreaker::named("combined", config))
}

/// The same call with a breaker and a quota, by a function, a block, a retrier and a layer.
async fn by_all(
    errors: &'static [Classified],
    hold: Option<Duration>,
    tokens: u32,
) -> Vec<(String, Vec<Duration>, u32)> {
    #[retry(policy = TWO, uncounted = [rate_limit], breaker = breaker, quota = quota)]
    async fn function(
        calls: &Calls,
        errors: &[Classified],
        breaker: &CircuitBreaker,
        quota: &RetryQuota,
    ) -> Result<u32, RetryError<Classified>> {
        play(calls, errors)
    }
    let mut all = Vec::new();
    for door in 0..4 {
        let (calls, breaker) = (Arc::new(Calls::new()), breaker(hold));
        let quota = Arc::new(RetryQuota::new("combined", QuotaConfig::new().capacity(tokens)));
        let retrier = Retrier::new(TWO).classified().uncounted(Class::RATE_LIMIT);
        let retrier = retrier.breaker(breaker.clone()).quota(quota.clone());
        let ended = match door {
            0 => function(&calls, errors, &breaker, &quota).await,
            1 => {
                let block = retrying!(
                    name = "combined.block",
                    policy = TWO,
                    uncounted = [rate_limit],
                    breaker = breaker,
                    quota = quota,
                    async || -> Result<u32, RetryError<Classified>> { play(&calls, errors) }
                );
                block.await
            }
            2 => retrier.run(|| async { play(&calls, errors) }).await,
            _ => {
                let called = calls.clone();
                let service = service_fn(move |()| std::future::ready(play(&called, errors)));
                RetryLayer::new(retrier).layer(service).oneshot(()).await
            }
        };
        let ended = match ended {
            Ok(value) => format!("{value}"),
            Err(error) => format!("{:?} {}", error.reason(), error.attempts()),
        };
        all.push((ended, calls.gaps(), quota.available()));
    }
    all
}

#[tokio::test(start_paused = true)]
async fn limits_that_hold_a_breaker_use_up_no_attempt_and_do_not_open_it() {
    for (ended, gaps, _) in by_all(&[LIMIT, FAULT, LIMIT, LIMIT, LIMIT], Some(secs(60)), 500).await
    {
        assert_eq!(ended, "6");
        // Until the end of the hold, and a random part of a tenth.
        assert_eq!(gaps.len(), 5);
        assert_eq!(gaps[1], secs(2), "the second wait of the curve");
        for at in [0, 2, 3, 4] {
            assert!((secs(30)..=secs(33)).contains(&gaps[at]), "{gaps:?}");
        }
    }
    // Without a hold, they open it: the retry that follows is not admitted.
    for (ended, gaps, _) in by_all(&[LIMIT; 9], None, 500).await {
        assert_eq!((ended.as_str(), gaps.len()), ("CircuitOpen 3", 2));
    }
    // A shorter hold than the server asks for.
    for (ended, gaps, _) in by_all(&[LIMIT, LIMIT, FAULT, FAULT], Some(secs(5)), 500).await {
        assert_eq!((ended.as_str(), &gaps[..2]), ("Attempts 4", &[secs(30), secs(30)][..]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_quota_pays_for_retries_that_use_up_no_attempt() {
    for (ended, gaps, left) in by_all(&[LIMIT; 9], Some(secs(60)), 23).await {
        assert_eq!((ended.as_str(), gaps.len(), left), ("Quota 5", 4, 3));
    }
}

#[tokio::test(start_paused = true)]
async fn a_fallback_runs_after_the_counted_failures_and_waits_end_by_a_closure() {
    #[retry(policy = TWO, uncounted = [rate_limit], on_failure = fallback(|error| error.attempts() + 100))]
    async fn falls_back(calls: &Calls) -> Result<u32, RetryError<Classified>> {
        play(calls, &[LIMIT, FAULT, LIMIT, FAULT, FAULT])
    }
    #[retry(
        policy = TWO,
        uncounted = [rate_limit],
        wait_by = |attempt, _, wait| if attempt < 4 {
            ControlFlow::Continue(wait / 10)
        } else {
            ControlFlow::Break(())
        },
    )]
    async fn steered(calls: &Calls) -> Result<u32, RetryError<Classified>> {
        play(calls, &[LIMIT; 9])
    }
    assert_eq!(falls_back(&Calls::new()).await.unwrap(), 104);
    let (by_function, by_retrier) = (Calls::new(), Calls::new());
    let error = steered(&by_function).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRetryable, 4));
    let retrier = Retrier::new(TWO).classified().uncounted(Class::RATE_LIMIT);
    let run = retrier.run(|| async { play(&by_retrier, &[LIMIT; 9]) });
    let error = run.wait_by(|attempt, _, wait| match attempt {
        ..4 => ControlFlow::Continue(wait / 10),
        _ => ControlFlow::Break(()),
    });
    assert_eq!(error.await.unwrap_err().reason(), Reason::NotRetryable);
    for calls in [by_function, by_retrier] {
        assert_eq!(calls.gaps(), [secs(3); 3]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_of_uncounted_failures_ends_with_its_last_one() {
    #[retry(attempts = 2, uncounted = [rate_limit], cancel = sleep(secs(100)), breaker = breaker)]
    async fn function(
        calls: &Calls,
        breaker: &CircuitBreaker,
    ) -> Result<u32, RetryError<Classified>> {
        play(calls, &[LIMIT; 9])
    }
    let retrier = Retrier::new(TWO).classified().uncounted(Class::RATE_LIMIT);
    let began = Instant::now();
    let breaker_of_function = breaker(Some(secs(60)));
    let by_function = function(&Calls::new(), &breaker_of_function).await;
    assert_eq!(began.elapsed(), secs(100));
    let breaker = breaker(Some(secs(60)));
    let guarded = retrier.breaker(breaker.clone());
    let calls = Calls::new();
    let by_retrier = guarded.run(|| async { play(&calls, &[LIMIT; 9]) });
    let by_retrier = by_retrier.cancel(sleep(secs(100))).await;
    assert_eq!(began.elapsed(), secs(200));
    for ended in [by_function, by_retrier] {
        let error = ended.unwrap_err();
        assert_eq!(error.reason(), Reason::Cancelled);
        assert!(error.last().is_some_and(|last| last.0 == Class::RATE_LIMIT));
        assert_eq!(error.attempts(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_of_a_layer_that_is_a_limit_uses_up_no_attempt() {
    let calls = Arc::new(Calls::new());
    let called = calls.clone();
    let service = service_fn(move |()| {
        let status = if called.make() < 6 { 429 } else { 503 };
        let response = Response::builder().status(status).body(()).unwrap();
        std::future::ready(Ok::<_, std::io::Error>(response))
    });
    let retrier = Retrier::new(TWO).uncounted(Class::RATE_LIMIT);
    let layer = RetryLayer::new(retrier).classify_response(StatusError::of);
    let response = layer.layer(service).oneshot(()).await.unwrap();
    assert_eq!((response.status(), calls.made()), (StatusCode::SERVICE_UNAVAILABLE, 7));
}

#[test]
fn a_call_that_blocks_waits_for_the_end_of_a_hold() {
    const SHORT: Classified = Classified(Class::RATE_LIMIT, Some(millis(10)));
    #[retry(attempts = 2, initial_delay = "1ms", uncounted = [rate_limit], max_elapsed = "1h", breaker = breaker)]
    fn function(calls: &Calls, breaker: &CircuitBreaker) -> Result<u32, RetryError<Classified>> {
        play(calls, &[SHORT, FAULT, SHORT, SHORT, FAULT])
    }
    let policy = Policy::new().attempts(2).initial_delay(millis(1)).max_elapsed(secs(3_600));
    let retrier = Retrier::new(policy).classified().uncounted(Class::RATE_LIMIT);
    let own = breaker(Some(secs(60)));
    let guarded = retrier.breaker(own.clone());
    let calls = Calls::new();
    let by_retrier = guarded.run_sync(|| play(&calls, &[SHORT, FAULT, SHORT, SHORT, FAULT]));
    for ended in [function(&Calls::new(), &breaker(Some(secs(60)))), by_retrier] {
        let error = ended.unwrap_err();
        assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 5));
        assert!((millis(30)..millis(40)).contains(&error.waited()), "{:?}", error.waited());
    }
}

#[tokio::test(start_paused = true)]
async fn a_hedged_group_of_limits_holds_and_uses_up_no_attempt() {
    #[retry(attempts = 2, hedge = "10ms", uncounted = [rate_limit], deadline = "1h", breaker = breaker)]
    async fn function(
        calls: &Calls,
        breaker: &CircuitBreaker,
    ) -> Result<u32, RetryError<Classified>> {
        slow(calls).await
    }
    async fn slow(calls: &Calls) -> Result<u32, Classified> {
        let call = calls.make();
        sleep(millis(20)).await;
        if call > 6 { Ok(call) } else { Err(LIMIT) }
    }
    let policy = TWO.hedge(millis(10));
    let retrier = Retrier::new(policy).classified().uncounted(Class::RATE_LIMIT);
    let (own, by_retrier) = (breaker(Some(secs(60))), Calls::new());
    let guarded = retrier.breaker(own.clone());
    let (of_function, by_function) = (breaker(Some(secs(60))), Calls::new());
    let first = function(&by_function, &of_function).await.unwrap();
    let second = guarded.run(|| slow(&by_retrier)).await.unwrap();
    assert_eq!((first, second), (7, 7));
    for (calls, breaker) in [(by_function, of_function), (by_retrier, own)] {
        // Three groups of two, each of which waits for the end of the hold.
        let waits: Vec<_> = calls.gaps().into_iter().filter(|gap| *gap > secs(1)).collect();
        assert!(waits.len() == 3 && waits.iter().all(|wait| *wait < secs(34)), "{waits:?}");
        let outcomes = breaker.snapshot().outcomes;
        assert_eq!((outcomes.failures, outcomes.held), (0, 6));
    }
}
