//! `max_retry_after`: a server that asks for a longer wait ends the call; and
//! `RetryError::retry_after`, the wait that it asked for.

use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::matchers::network;
use retry_runtime::{
    Bound, BreakerConfig, CircuitBreaker, Class, Policy, Reason, Retrier, RetryError, policy,
    retry, retrying, sites,
};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::support::{Calls, Classified, Failure, millis, secs};

const HOUR: Duration = secs(3_600);
const PATIENT: Policy = policy!(attempts = 2, max_retry_after = unlimited);

fn asks(wait: Duration) -> Classified {
    Classified(Class::RATE_LIMIT, Some(wait))
}

#[retry(attempts = 2, name = "ceiling.default")]
async fn by_default(calls: &Calls, wait: Duration) -> Result<(), RetryError<Classified>> {
    calls.make();
    Err(asks(wait))
}

/// The calls that were made, the reason, and how long all of it took.
async fn seen(
    calls: &Calls,
    call: impl Future<Output = Result<(), RetryError<Classified>>>,
) -> (usize, Reason, Duration) {
    let start = Instant::now();
    let reason = call.await.unwrap_err().reason();
    (calls.made(), reason, start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_of_more_than_an_hour_ends_the_call() {
    let calls = Calls::new();
    let longer = HOUR + Duration::from_nanos(1);
    let end = seen(&calls, by_default(&calls, longer)).await;
    assert_eq!(end, (1, Reason::RetryAfter, Duration::ZERO));
    let error = by_default(&calls, longer).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(longer));
    let site = sites().into_iter().find(|site| site.name() == "ceiling.default").unwrap();
    assert_eq!(site.stats().gave_up_by(Reason::RetryAfter), 2);
}

#[tokio::test(start_paused = true)]
async fn an_equal_wait_is_slept() {
    let calls = Calls::new();
    let end = seen(&calls, by_default(&calls, HOUR)).await;
    assert_eq!(end, (2, Reason::Attempts, HOUR));
}

#[tokio::test(start_paused = true)]
async fn jitter_does_not_count() {
    #[retry(attempts = 2, jitter = up(1.0), max_retry_after = "1m", retry_after = Failure::wait)]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        calls.make();
        Err(Failure::SlowDown(secs(60)))
    }
    for _ in 0..20 {
        let calls = Calls::new();
        fetch(&calls).await.unwrap_err();
        assert!(calls.gaps()[0] > secs(60), "{:?}", calls.gaps());
    }
}

#[tokio::test(start_paused = true)]
async fn every_front_end_bounds_the_wait() {
    #[retry(attempts = 2, max_retry_after = "10m")]
    async fn function(calls: &Calls, wait: Duration) -> Result<(), RetryError<Classified>> {
        calls.make();
        Err(asks(wait))
    }
    #[retry(policy = PATIENT, max_retry_after = "10m")]
    async fn over_a_policy(calls: &Calls, wait: Duration) -> Result<(), RetryError<Classified>> {
        calls.make();
        Err(asks(wait))
    }
    #[retry(attempts = 2, max_retry_after = "10m", retry_after = Failure::wait)]
    async fn by_closure(calls: &Calls, wait: Duration) -> Result<(), RetryError<Failure>> {
        calls.make();
        Err(Failure::SlowDown(wait))
    }
    let retrier = Retrier::new(Policy::new().attempts(2).max_retry_after(secs(600))).classified();
    for (wait, expected) in [
        (secs(600), (2, Reason::Attempts, secs(600))),
        (secs(601), (1, Reason::RetryAfter, Duration::ZERO)),
    ] {
        let calls = Calls::new();
        assert_eq!(seen(&calls, function(&calls, wait)).await, expected);
        let calls = Calls::new();
        assert_eq!(seen(&calls, over_a_policy(&calls, wait)).await, expected);
        let (calls, start) = (Calls::new(), Instant::now());
        let reason = by_closure(&calls, wait).await.unwrap_err().reason();
        assert_eq!((calls.made(), reason, start.elapsed()), expected);
        let calls = Calls::new();
        let block = retrying!(
            name = "ceiling.block",
            attempts = 2,
            max_retry_after = "10m",
            async || -> Result<(), RetryError<Classified>> {
                calls.make();
                Err(asks(wait))
            }
        );
        assert_eq!(seen(&calls, block).await, expected);
        let calls = Calls::new();
        let call = retrier.run(|| async {
            calls.make();
            Err(asks(wait))
        });
        assert_eq!(seen(&calls, call).await, expected);
    }
    #[retry(max_retry_after = "10m")]
    fn blocking(calls: &Calls) -> Result<(), RetryError<Classified>> {
        calls.make();
        Err(asks(secs(601)))
    }
    let calls = Calls::new();
    assert_eq!(blocking(&calls).unwrap_err().reason(), Reason::RetryAfter);
    let call = retrier.run_sync(|| Err::<(), _>(asks(secs(calls.make().into()) + secs(600))));
    assert_eq!(call.unwrap_err().reason(), Reason::RetryAfter);
    assert_eq!(calls.made(), 2);
}

#[tokio::test(start_paused = true)]
async fn unlimited_obeys_any_retry_after_and_the_default_is_an_hour() {
    #[retry(policy = PATIENT)]
    async fn patient(calls: &Calls) -> Result<(), RetryError<Classified>> {
        calls.make();
        Err(asks(100 * HOUR))
    }
    #[retry(attempts = 2, max_retry_after = runtime(longest))]
    async fn configured(
        calls: &Calls,
        longest: Option<Duration>,
        wait: Duration,
    ) -> Result<(), RetryError<Classified>> {
        calls.make();
        Err(asks(wait))
    }
    let calls = Calls::new();
    assert_eq!(seen(&calls, patient(&calls)).await, (2, Reason::Attempts, 100 * HOUR));
    for (longest, wait, reason) in [
        (None, HOUR, Reason::Attempts),
        (None, HOUR + secs(1), Reason::RetryAfter),
        (Some(2 * HOUR), HOUR + secs(1), Reason::Attempts),
        (Some(secs(5)), secs(6), Reason::RetryAfter),
        // A mistake: the nearest valid policy has the default.
        (Some(Duration::ZERO), HOUR, Reason::Attempts),
    ] {
        let error = configured(&Calls::new(), longest, wait).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{longest:?} {wait:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_checked_after_the_attempts_and_before_the_budget() {
    #[retry(attempts = 2, budget = "1m", max_retry_after = "10m", initial_delay = "1s")]
    async fn fetch(waits: &[Duration], calls: &Calls) -> Result<(), RetryError<Classified>> {
        Err(asks(waits[calls.make() as usize - 1]))
    }
    let error = fetch(&[secs(1), secs(601)], &Calls::new()).await.unwrap_err();
    assert_eq!((error.reason(), error.retry_after()), (Reason::Attempts, Some(secs(601))));
    let error = fetch(&[secs(601)], &Calls::new()).await.unwrap_err();
    assert_eq!(error.reason(), Reason::RetryAfter);
    let error = fetch(&[secs(61)], &Calls::new()).await.unwrap_err();
    assert_eq!((error.reason(), error.retry_after()), (Reason::Budget, Some(secs(61))));
    let retrier = Retrier::new(Policy::new()).classified().retry_on([network]);
    let error = retrier.run(|| async { Err::<(), _>(asks(2 * HOUR)) }).await.unwrap_err();
    assert_eq!((error.reason(), error.retry_after()), (Reason::NotRetryable, Some(2 * HOUR)));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_the_program_sets_is_not_bounded() {
    #[retry(attempts = 2, max_retry_after = "1m", context = cx)]
    async fn ruled(server: Duration, own: Duration) -> Result<(), RetryError<Classified>> {
        cx.retry_after(own);
        Err(asks(server))
    }
    #[retry(attempts = 2, max_retry_after = "1m", wait_by = |_, _, wait| Continue(own + wait))]
    async fn replaced(server: Duration, own: Duration) -> Result<(), RetryError<Classified>> {
        Err(asks(server))
    }
    let minute = secs(60);
    // Longer than the bound, equal to what the server asks for, and shorter.
    for own in [HOUR, 2 * HOUR, secs(1)] {
        let error = ruled(2 * HOUR, own).await.unwrap_err();
        assert_eq!((error.reason(), error.waited()), (Reason::Attempts, own));
        assert_eq!(error.retry_after(), Some(2 * HOUR), "what the server asked for is kept");
        let error = replaced(minute, own).await.unwrap_err();
        assert_eq!((error.reason(), error.waited()), (Reason::Attempts, own + minute));
        let error = replaced(HOUR, own).await.unwrap_err();
        assert_eq!((error.reason(), error.waited()), (Reason::Attempts, own + HOUR));
    }
    let retrier = Retrier::new(Policy::new().attempts(2).max_retry_after(minute)).classified();
    let retrier = retrier.wait_by(|_, _, wait| Continue(wait + HOUR));
    let error = retrier.run(|| async { Err::<(), _>(asks(HOUR)) }).await.unwrap_err();
    assert_eq!((error.reason(), error.waited()), (Reason::Attempts, 2 * HOUR));
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_that_of_the_last_failure_only() {
    let answers = [Some(secs(7)), None, Some(secs(9)), Some(Duration::ZERO)];
    for (attempts, asked) in [(1, Some(secs(7))), (2, None), (3, Some(secs(9))), (4, None)] {
        let calls = Calls::new();
        let call =
            async || Err::<(), _>(Classified(Class::empty(), answers[calls.make() as usize - 1]));
        let error = Retrier::new(Policy::new().attempts(attempts)).classified();
        let error = error.run(call).await.unwrap_err();
        assert_eq!((error.attempts(), error.retry_after()), (attempts, asked));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_between_its_attempts_keeps_the_wait_of_the_failure_before() {
    async fn fails_then_hangs(calls: &Calls) -> Result<(), Failure> {
        if calls.make() > 1 {
            sleep(HOUR).await;
        }
        Err(Failure::SlowDown(secs(9)))
    }
    #[retry(cancel = stop.notified(), retry_after = Failure::wait)]
    async fn cancelled(calls: &Calls, stop: &Notify) -> Result<(), RetryError<Failure>> {
        fails_then_hangs(calls).await
    }
    #[retry(deadline = "10s", retry_after = Failure::wait)]
    async fn cut_off(calls: &Calls) -> Result<(), RetryError<Failure>> {
        fails_then_hangs(calls).await
    }
    #[retry(breaker = breaker, retry_after = Failure::wait)]
    async fn rejected(calls: &Calls, breaker: &CircuitBreaker) -> Result<(), RetryError<Failure>> {
        fails_then_hangs(calls).await
    }
    let expected = (Some(&Failure::SlowDown(secs(9))), Some(secs(9)));
    let stop = Notify::new();
    let calls = Calls::new();
    let stop_later = async {
        sleep(secs(5)).await;
        stop.notify_one();
    };
    let (ended, ()) = tokio::join!(cancelled(&calls, &stop), stop_later);
    let error = ended.unwrap_err();
    assert_eq!(error.reason(), Reason::Cancelled);
    assert_eq!((error.last(), error.retry_after()), expected);

    let error = cut_off(&Calls::new()).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Deadline, 2));
    assert_eq!((error.last(), error.retry_after()), expected);

    let config = BreakerConfig::new();
    let breaker = Arc::new(CircuitBreaker::named("ceiling.breaker".to_owned(), config));
    let open_later = async {
        sleep(secs(5)).await;
        breaker.force_open();
    };
    let calls = Calls::new();
    let (ended, ()) = tokio::join!(rejected(&calls, &breaker), open_later);
    let error = ended.unwrap_err();
    assert_eq!((error.reason(), calls.made()), (Reason::CircuitOpen, 1));
    assert_eq!((error.last(), error.retry_after()), expected);
    // No attempt was made, so nothing was asked for.
    let error = rejected(&Calls::new(), &breaker).await.unwrap_err();
    assert_eq!((error.attempts(), error.retry_after()), (0, None));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_a_deadline_uncovers_has_its_own_wait() {
    #[retry(deadline = "2s", hedge = "15ms", retry_after = Failure::wait)]
    async fn fetch(calls: &Calls) -> Result<u32, RetryError<Failure>> {
        match calls.make() {
            1 => Err(Failure::SlowDown(secs(1))),
            2 => std::future::pending().await,
            call => Err(Failure::Busy(call)),
        }
    }
    // The second attempt hangs, and the hedge that joins it fails.
    let error = fetch(&Calls::new()).await.unwrap_err();
    assert_eq!((error.reason(), error.last()), (Reason::Deadline, Some(&Failure::Busy(3))));
    assert_eq!(error.retry_after(), None);
}

#[tokio::test(start_paused = true)]
async fn the_error_names_the_wait() {
    #[retry(attempts = 2)]
    async fn fetch(wait: Duration) -> Result<(), RetryError<Classified>> {
        Err(asks(wait))
    }
    let text = async |wait| fetch(wait).await.unwrap_err().to_string();
    assert_eq!(
        text(2 * HOUR).await,
        "gave up after 1 attempt (the server asked for a longer wait than `max_retry_after` \
         allows: 7200s)"
    );
    assert_eq!(
        text(millis(1_500)).await,
        "gave up after 2 attempts and 1.5s of waiting (all attempts were used; the server asked \
         for a wait of 1.5s)"
    );
    let ruled = Retrier::new(Policy::new().attempts(1)).run_sync(|| Err::<(), _>(asks(HOUR)));
    assert_eq!(ruled.unwrap_err().to_string(), "gave up after 1 attempt (all attempts were used)");
}

/// Each member of a group fails after 20 ms, asking for the wait of its number.
async fn member(calls: &Calls, waits: [Duration; 2]) -> Result<u32, Failure> {
    let call = calls.make();
    sleep(millis(20)).await;
    match waits.get(call as usize - 1) {
        Some(wait) => Err(Failure::SlowDown(*wait)),
        None => Ok(call),
    }
}

#[tokio::test(start_paused = true)]
async fn the_longest_wait_of_all_members_of_a_group_is_bounded() {
    #[retry(hedge = "10ms", max_retry_after = "1m", retry_after = Failure::wait)]
    async fn fetch(calls: &Calls, waits: [Duration; 2]) -> Result<u32, RetryError<Failure>> {
        member(calls, waits).await
    }
    let policy = Policy::new().hedge(millis(10)).max_retry_after(secs(60));
    let retrier = Retrier::new(policy).retry_after(Failure::wait);
    for (waits, reason) in [
        ([secs(60), secs(3)], None),
        ([secs(61), secs(3)], Some(Reason::RetryAfter)),
        ([secs(3), secs(61)], Some(Reason::RetryAfter)),
    ] {
        let calls = Calls::new();
        let by_retrier = retrier.run(|| member(&calls, waits)).await;
        for ended in [fetch(&Calls::new(), waits).await, by_retrier] {
            match (ended, reason) {
                (Ok(call), None) => assert_eq!(call, 3),
                (ended, reason) => {
                    let error = ended.unwrap_err();
                    assert_eq!((Some(error.reason()), error.attempts()), (reason, 1));
                    assert_eq!(error.retry_after(), Some(secs(61)));
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_ruling_of_one_member_does_not_lift_the_bound_of_another() {
    #[retry(hedge = "10ms", max_retry_after = "1m", retry_after = Failure::wait, context = cx)]
    async fn fetch(
        calls: &Calls,
        waits: [Duration; 2],
        rules: u32,
    ) -> Result<u32, RetryError<Failure>> {
        if calls.made() + 1 == rules as usize {
            cx.retry_after(secs(5));
        }
        member(calls, waits).await
    }
    // The first member overrules its own server, and the last one does not ask for as much.
    let (calls, start) = (Calls::new(), Instant::now());
    assert_eq!(fetch(&calls, [secs(61), secs(3)], 1).await.unwrap(), 3);
    assert_eq!(start.elapsed(), secs(5) + millis(50));
    // The first member does, and the last one asks for more than the bound.
    let error = fetch(&Calls::new(), [secs(3), secs(61)], 1).await.unwrap_err();
    assert_eq!((error.reason(), error.retry_after()), (Reason::RetryAfter, Some(secs(61))));
    // The ruling of the last one is the ruling on the attempt.
    let (calls, start) = (Calls::new(), Instant::now());
    assert_eq!(fetch(&calls, [secs(61), secs(61)], 2).await.unwrap(), 3);
    assert_eq!(start.elapsed(), secs(5) + millis(50));
}

#[tokio::test(start_paused = true)]
async fn a_policy_shows_its_bound_if_it_differs_from_the_default() {
    let shown = |longest| Policy::new().with_max_retry_after(longest).to_string();
    for default in [Bound::None, Bound::Limited(HOUR)] {
        assert!(!shown(default).contains("retry after"));
    }
    assert!(shown(Bound::Limited(secs(600))).ends_with(", max retry after 10m"));
    assert!(PATIENT.to_string().ends_with(", max retry after unlimited"));
    let site = sites().into_iter().find(|site| site.name() == "ceiling.default").unwrap();
    assert_eq!(site.policy().unwrap().get_max_retry_after(), HOUR);
}
