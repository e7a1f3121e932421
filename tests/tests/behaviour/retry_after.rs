//! `retry_after`: the wait that the server asked for.

use std::time::Duration;

use retry_runtime::durable::{CallState, Decision, Failed};
use retry_runtime::matchers::rate_limit;
use retry_runtime::{
    Bound, Class, Jitter, Policy, Reason, Retrier, RetryError, policy, retry, retrying,
};
use tokio::time::Instant;

use crate::support::{Calls, Classified, Failure, secs};

#[tokio::test(start_paused = true)]
async fn it_replaces_the_curve_where_it_gives_a_wait() {
    #[retry(attempts = 4, retry_after = |error: &Failure| error.wait())]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        match calls.make() {
            2 => Err(Failure::SlowDown(secs(9))),
            call => Err(Failure::Busy(call)),
        }
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(1), secs(9), secs(4)]);
}

#[tokio::test(start_paused = true)]
async fn it_is_not_cut_to_max_delay() {
    #[retry(attempts = 2, max_delay = "5s", retry_after = Failure::wait)]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        calls.make();
        Err(Failure::SlowDown(secs(60)))
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(60)]);
}

#[tokio::test(start_paused = true)]
async fn it_bypasses_neither_attempts_nor_budget_nor_deadline() {
    #[retry(attempts = 3, retry_after = Failure::wait)]
    async fn attempts(calls: &Calls) -> Result<(), RetryError<Failure>> {
        calls.make();
        Err(Failure::SlowDown(Duration::ZERO))
    }
    #[retry(attempts = 9, budget = "10s", retry_after = Failure::wait)]
    async fn budget(calls: &Calls) -> Result<(), RetryError<Failure>> {
        calls.make();
        Err(Failure::SlowDown(secs(4)))
    }
    #[retry(attempts = 9, deadline = "10s", retry_after = Failure::wait)]
    async fn deadline(calls: &Calls) -> Result<(), RetryError<Failure>> {
        calls.make();
        Err(Failure::SlowDown(secs(4)))
    }
    let calls = Calls::new();
    assert_eq!(attempts(&calls).await.unwrap_err().reason(), Reason::Attempts);
    assert_eq!(calls.made(), 3);
    let calls = Calls::new();
    assert_eq!(budget(&calls).await.unwrap_err().reason(), Reason::Budget);
    assert_eq!(calls.made(), 3);
    let (calls, start) = (Calls::new(), Instant::now());
    assert_eq!(deadline(&calls).await.unwrap_err().reason(), Reason::Deadline);
    assert_eq!((calls.made(), start.elapsed()), (3, secs(8)));
}

#[tokio::test(start_paused = true)]
async fn it_is_jittered_upwards_only() {
    for jitter in [Jitter::Proportional(0.3), Jitter::Full, Jitter::Equal, Jitter::Decorrelated] {
        let policy = Policy::new().attempts(100).jitter(jitter);
        let asked = secs(40);
        let retrier = Retrier::new(policy).retry_on([rate_limit]).classified();
        let calls = Calls::new();
        let error = retrier
            .run(|| {
                calls.make();
                async { Err::<(), _>(Classified(Class::RATE_LIMIT, Some(asked))) }
            })
            .await
            .unwrap_err();
        assert_eq!(error.attempts(), 100);
        let gaps = calls.gaps();
        assert!(gaps.iter().all(|gap| *gap >= asked), "{jitter:?}: earlier than was asked for");
        assert!(gaps.iter().any(|gap| *gap > asked), "{jitter:?}: not spread at all");
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_of_a_classified_error_is_used() {
    #[retry(attempts = 2)]
    async fn fetch(calls: &Calls) -> Result<(), Classified> {
        calls.make();
        Err(Classified(Class::empty(), Some(secs(44))))
    }
    #[retry(attempts = 2, retry_after = |_| hint)]
    async fn overridden(calls: &Calls, hint: Option<Duration>) -> Result<(), Classified> {
        calls.make();
        Err(Classified(Class::empty(), Some(secs(44))))
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(44)]);
    for (hint, gap) in [(Some(secs(5)), secs(5)), (None, secs(44))] {
        let calls = Calls::new();
        overridden(&calls, hint).await.unwrap_err();
        assert_eq!(calls.gaps(), [gap]);
    }
}

/// A server whose clock lags, or that sends `Retry-After: 0`.
const HASTY: Classified = Classified(Class::SERVER_ERROR, Some(Duration::ZERO));

#[tokio::test(start_paused = true)]
async fn a_retry_after_of_zero_does_not_turn_the_backoff_off() {
    #[retry(attempts = 4, retry_on = [transient])]
    async fn listed(calls: &Calls) -> Result<(), Classified> {
        calls.make();
        Err(HASTY)
    }
    #[retry(attempts = 4, retry_after = |_| None, breaker(failure_threshold = 9))]
    async fn guarded(calls: &Calls) -> Result<(), RetryError<Classified>> {
        calls.make();
        Err(HASTY)
    }
    let retrier = Retrier::new(Policy::new().attempts(4)).classified();
    let curve = [secs(1), secs(2), secs(4)];

    let calls = Calls::new();
    listed(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), curve);
    let calls = Calls::new();
    guarded(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), curve);
    let calls = Calls::new();
    let block = retrying!(name = "hasty", attempts = 4, async |_| -> Result<(), Classified> {
        calls.make();
        Err(HASTY)
    });
    block.await.unwrap_err();
    assert_eq!(calls.gaps(), curve);
    let calls = Calls::new();
    let run = retrier.run(|| {
        calls.make();
        async { Err::<(), _>(HASTY) }
    });
    run.await.unwrap_err();
    assert_eq!(calls.gaps(), curve);

    let mut state = CallState::default();
    let decision = retrier.decide(&mut state, &Failed::now(&HASTY));
    assert_eq!(decision, Decision::Wait(secs(1)));
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_zero_that_the_program_rules_is_obeyed() {
    #[retry(attempts = 3, context = cx)]
    async fn ruled() -> Result<(), RetryError<Classified>> {
        cx.retry_after(Duration::ZERO);
        Err(HASTY)
    }
    #[retry(attempts = 3, retry_after = |_| Some(Duration::ZERO))]
    async fn asked() -> Result<(), RetryError<Classified>> {
        Err(HASTY)
    }
    let retrier = Retrier::new(Policy::new().attempts(3))
        .classified()
        .retry_after(|_: &Classified| Some(Duration::ZERO));
    for error in [
        ruled().await.unwrap_err(),
        asked().await.unwrap_err(),
        retrier.run(async || Err::<(), _>(HASTY)).await.unwrap_err(),
    ] {
        assert_eq!((error.attempts(), error.waited()), (3, Duration::ZERO));
    }
}

#[tokio::test(start_paused = true)]
async fn the_longest_hint_neither_panics_nor_ends_before_the_budget() {
    #[retry(
        attempts = 3,
        jitter,
        budget = "1h",
        max_retry_after = unlimited,
        retry_after = |_| Some(Duration::MAX)
    )]
    async fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    assert_eq!(fetch().await.unwrap_err().reason(), Reason::Budget);
}

/// The program itself says so: the budget would never be used.
#[tokio::test(start_paused = true)]
async fn hints_of_nothing_do_not_make_unlimited_attempts_endless() {
    #[retry(attempts = unlimited, budget = "10s", retry_after = |_| Some(Duration::ZERO))]
    async fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    let error = fetch().await.unwrap_err();
    assert_eq!((error.attempts(), error.waited()), (4, secs(7)));
}

#[tokio::test(start_paused = true)]
async fn a_hint_of_nothing_is_obeyed_where_attempts_are_limited() {
    #[retry(attempts = 3, retry_after = |_| Some(Duration::ZERO))]
    async fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    assert_eq!(fetch().await.unwrap_err().waited(), Duration::ZERO);
}

/// Fails with a server's wait, and then succeeds.
#[expect(clippy::unused_async, reason = "an operation is async")]
async fn slow_down_once(calls: &Calls, wait: Duration) -> Result<(), Failure> {
    if calls.make() == 1 { Err(Failure::SlowDown(wait)) } else { Ok(()) }
}

const ENDLESS: Policy = policy!(attempts = unlimited, initial_delay = "10s", max_elapsed = "1h");
const BUDGETED: Policy = policy!(attempts = unlimited, initial_delay = "10s", budget = "1h");

#[tokio::test(start_paused = true)]
async fn unlimited_attempts_do_not_lengthen_a_wait() {
    #[retry(policy = ENDLESS, retry_after = Failure::wait)]
    async fn read(calls: &Calls) -> Result<(), Failure> {
        slow_down_once(calls, secs(1)).await
    }
    #[retry(policy = ENDLESS, context = cx)]
    async fn ruled(calls: &Calls) -> Result<(), Failure> {
        cx.retry_after(secs(1));
        slow_down_once(calls, secs(5)).await
    }
    #[retry(policy = BUDGETED)]
    async fn stated(calls: &Calls) -> Result<(), Classified> {
        let failed = slow_down_once(calls, secs(1)).await;
        failed.map_err(|error| Classified(Class::RATE_LIMIT, error.wait()))
    }
    async fn block(calls: &Calls) -> Result<(), Failure> {
        retrying!(
            name = "retry_after.endless",
            policy = BUDGETED,
            retry_after = Failure::wait,
            async || { slow_down_once(calls, secs(1)).await }
        )
        .await
    }
    let calls: [Calls; 5] = Default::default();
    read(&calls[0]).await.unwrap();
    ruled(&calls[1]).await.unwrap();
    stated(&calls[2]).await.unwrap();
    block(&calls[3]).await.unwrap();
    let retrier = Retrier::new(ENDLESS).retry_after(Failure::wait);
    retrier.run(|| slow_down_once(&calls[4], secs(1))).await.unwrap();
    for calls in calls {
        assert_eq!(calls.gaps(), [secs(1)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_zero_is_obeyed_where_time_is_bounded() {
    for policy in [ENDLESS, ENDLESS.with_max_elapsed(Bound::None).deadline(secs(60))] {
        let (retrier, calls) = (Retrier::new(policy).retry_after(Failure::wait), Calls::new());
        retrier.run(|| slow_down_once(&calls, secs(0))).await.unwrap();
        assert_eq!(calls.gaps(), [secs(0)]);
    }
    let (retrier, calls) = (Retrier::new(BUDGETED).retry_after(Failure::wait), Calls::new());
    retrier.run(|| slow_down_once(&calls, secs(0))).await.unwrap();
    assert_eq!(calls.gaps(), [secs(10)]);
}
