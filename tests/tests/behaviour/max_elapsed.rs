//! `max_elapsed`: no attempt begins later than this after the call began.

use retry_runtime::{Backoff, Policy, Reason, Retrier, RetryError, policy, retry, sites};
use tokio::time::{Instant, sleep};

use crate::support::{Calls, Failure, millis, secs};

const SHARED: Policy = policy!(attempts = 10, backoff = fixed, max_elapsed = "10s");

/// Takes four seconds, and fails. Its error type cannot represent an `Interrupted`.
async fn slow(calls: &Calls) -> Result<(), String> {
    let call = calls.make();
    sleep(secs(4)).await;
    Err(format!("busy {call}"))
}

#[tokio::test(start_paused = true)]
async fn time_inside_the_calls_counts_and_the_running_attempt_is_never_cut_off() {
    // 0 to 4, 5 to 9, 10 to 14: the third attempt begins just in time, and ends late.
    #[retry(attempts = 10, backoff = fixed, max_elapsed = "10s")]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<String>> {
        slow(calls).await
    }
    #[retry(policy = SHARED)]
    async fn by_policy(calls: &Calls) -> Result<(), RetryError<String>> {
        slow(calls).await
    }
    #[retry(attempts = 10, backoff = fixed, max_elapsed = "10s", deadline = "1h", timeout = "30m")]
    async fn beside_others(calls: &Calls) -> Result<(), RetryError<String>> {
        slow(calls).await
    }
    let retrier = Retrier::new(SHARED);
    for i in 0..4 {
        let (calls, start) = (Calls::new(), Instant::now());
        let error = match i {
            0 => fetch(&calls).await,
            1 => by_policy(&calls).await,
            2 => beside_others(&calls).await,
            _ => retrier.run(|| slow(&calls)).await,
        }
        .unwrap_err();
        assert_eq!((calls.made(), start.elapsed()), (3, secs(14)), "{i}");
        assert_eq!((error.reason(), error.waited()), (Reason::MaxElapsed, secs(2)), "{i}");
        assert_eq!(error.last().map(String::as_str), Some("busy 3"), "{i}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_may_begin_just_then_and_not_later() {
    #[retry(attempts = 10, max_elapsed = "7s")]
    async fn exactly(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    #[retry(attempts = 10, max_elapsed = "6999ms")]
    async fn a_moment_less(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    let (calls, start) = (Calls::new(), Instant::now());
    assert_eq!(exactly(&calls).await.unwrap_err().reason(), Reason::MaxElapsed);
    assert_eq!((calls.made(), start.elapsed()), (4, secs(7)));
    let (calls, start) = (Calls::new(), Instant::now());
    assert_eq!(a_moment_less(&calls).await.unwrap_err().reason(), Reason::MaxElapsed);
    assert_eq!((calls.made(), start.elapsed()), (3, secs(3)), "at once, without sleeping first");
}

#[tokio::test(start_paused = true)]
async fn it_ends_unlimited_attempts_and_waits_of_nothing() {
    #[retry(attempts = unlimited, backoff = fixed, initial_delay = "0s", max_elapsed = "10s")]
    async fn poll(calls: &Calls) -> Result<(), RetryError<String>> {
        slow(calls).await
    }
    let (calls, start) = (Calls::new(), Instant::now());
    let error = poll(&calls).await.unwrap_err();
    assert_eq!((calls.made(), start.elapsed()), (3, secs(12)));
    assert_eq!(error.reason(), Reason::MaxElapsed);
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_beyond_max_elapsed_ends_the_call() {
    #[retry(max_elapsed = "30s", retry_after = |_: &Failure| Some(secs(31)))]
    async fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        Err(Failure::Busy(calls.make()))
    }
    let (calls, start) = (Calls::new(), Instant::now());
    assert_eq!(fetch(&calls).await.unwrap_err().reason(), Reason::MaxElapsed);
    assert_eq!((calls.made(), start.elapsed()), (1, secs(0)));
}

#[tokio::test(start_paused = true)]
async fn the_clock_starts_at_the_call_and_not_at_the_policy() {
    #[retry(policy = SHARED)]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    for _ in 0..2 {
        let (calls, start) = (Calls::new(), Instant::now());
        assert!(fetch(&calls).await.is_err());
        assert_eq!((calls.made(), start.elapsed()), (10, secs(9)));
        sleep(secs(60)).await;
    }
}

#[test]
fn it_is_looked_at_between_the_attempts_of_a_function_that_is_not_async() {
    #[retry(attempts = 10, backoff = fixed, initial_delay = "1ms", max_elapsed = "20ms", name = "elapsed.sync")]
    fn fetch(calls: &Calls) -> Result<(), RetryError<Failure>> {
        let call = calls.make();
        std::thread::sleep(millis(21));
        Err(Failure::Busy(call))
    }
    let calls = Calls::new();
    assert_eq!(fetch(&calls).unwrap_err().reason(), Reason::MaxElapsed);
    assert_eq!(calls.made(), 1);
    let site = sites().into_iter().find(|site| site.name() == "elapsed.sync").unwrap();
    assert_eq!(site.stats().gave_up_by(Reason::MaxElapsed), 1);

    let calls = Calls::new();
    let policy = Policy::new().backoff(Backoff::Fixed).initial_delay(millis(1));
    let error = Retrier::new(policy.max_elapsed(millis(20)))
        .run_sync(|| {
            std::thread::sleep(millis(21));
            Err::<(), _>(Failure::Busy(calls.make()))
        })
        .unwrap_err();
    assert_eq!((error.reason(), calls.made()), (Reason::MaxElapsed, 1));
}

#[tokio::test(start_paused = true)]
async fn an_option_that_is_unlimited_takes_the_bounds_of_a_shared_policy_away() {
    const BOUNDED: Policy =
        policy!(attempts = 3, budget = "2s", deadline = "3s", max_elapsed = "3s", timeout = "1s");
    // The error of this one cannot represent an `Interrupted`: nothing is left that could cut it
    // off.
    #[retry(
        policy = BOUNDED,
        budget = unlimited,
        deadline = unlimited,
        max_elapsed = unlimited,
        timeout = unlimited
    )]
    async fn fetch(calls: &Calls) -> Result<(), String> {
        slow(calls).await
    }
    let (calls, start) = (Calls::new(), Instant::now());
    assert_eq!(fetch(&calls).await, Err("busy 3".to_owned()));
    assert_eq!(start.elapsed(), secs(4 + 1 + 4 + 2 + 4));
}
