//! `policy`: start from a shared policy; the other options override it.

use retry_runtime::{Attempts, Backoff, Jitter, Policy, Reason, RetryError, policy, retry};
use tokio::time::{Instant, sleep};

use crate::support::{Calls, Failure, secs};

const SHARED: Policy = policy!(attempts = 4, backoff = fixed, initial_delay = "2s");

#[tokio::test(start_paused = true)]
async fn a_shared_policy_applies() {
    #[retry(policy = SHARED)]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(2); 3]);
}

#[tokio::test(start_paused = true)]
async fn options_override_it_wherever_they_stand() {
    #[retry(attempts = 2, policy = SHARED)]
    async fn before(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    #[retry(policy = SHARED, backoff = exponential, attempts = 3)]
    async fn after(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    before(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(2)]);
    let calls = Calls::new();
    after(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [secs(2), secs(4)]);
}

#[tokio::test(start_paused = true)]
async fn its_timeout_and_deadline_cut_attempts_off() {
    const TIMED: Policy = policy!(attempts = 2, timeout = "1s");
    const BOUNDED: Policy = policy!(deadline = "5s");
    #[retry(policy = TIMED)]
    async fn timed() -> Result<(), RetryError<Failure>> {
        sleep(secs(60)).await;
        Ok(())
    }
    #[retry(policy = BOUNDED)]
    async fn bounded() -> Result<(), RetryError<Failure>> {
        sleep(secs(60)).await;
        Ok(())
    }
    let start = Instant::now();
    assert_eq!(timed().await.unwrap_err().attempts(), 2);
    assert_eq!(start.elapsed(), secs(3));
    let start = Instant::now();
    assert_eq!(bounded().await.unwrap_err().reason(), Reason::Deadline);
    assert_eq!(start.elapsed(), secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_policy_without_matchers_requires_nothing_of_the_error() {
    struct Mute;
    #[retry(policy = SHARED)]
    async fn fetch() -> Result<(), Mute> {
        Err(Mute)
    }
    assert!(fetch().await.is_err());
}

#[test]
fn it_reads_as_a_line() {
    assert_eq!(
        policy!(attempts = 5, jitter, budget = "5m").to_string(),
        "5 attempts, exponential (base 2) from 1s to 30s, jitter ±30 %, budget 5m"
    );
    for percent in 0..=100_u32 {
        let line =
            Policy::new().jitter(Jitter::Proportional(f64::from(percent) / 100.0)).to_string();
        assert!(line.ends_with(&format!(", jitter ±{percent} %")), "{line}");
    }
    let fine = Policy::new().jitter(Jitter::Proportional(0.125)).to_string();
    assert!(fine.ends_with(", jitter ±12.5 %"), "{fine}");
    let up = policy!(jitter = up(0.5)).to_string();
    assert!(up.ends_with(", jitter up to +50 %"), "{up}");
    let added = policy!(jitter = "0ms..250ms").to_string();
    assert!(added.ends_with(", jitter of 0s to 250ms more"), "{added}");
}

#[test]
fn the_macro_sets_each_option() {
    const ALL: Policy = policy!(
        attempts = 9,
        backoff = exponential(base = 1.5),
        initial_delay = "500ms",
        max_delay = "1m",
        jitter = 0.25,
        budget = "5m",
        deadline = "10m",
        timeout = "30s",
    );
    assert_eq!(ALL.get_attempts(), Attempts::Limited(9));
    assert_eq!(ALL.get_backoff(), Backoff::Exponential { base: 1.5 });
    assert_eq!(ALL.get_jitter(), Jitter::Proportional(0.25));
    assert_eq!(ALL.get_initial_delay(), secs(1) / 2);
    assert_eq!(ALL.get_max_delay(), secs(60));
    assert_eq!(ALL.get_budget(), Some(secs(300)));
    assert_eq!(ALL.get_deadline(), Some(secs(600)));
    assert_eq!(ALL.get_timeout(), Some(secs(30)));
    assert_eq!(policy!(), Policy::new());
    assert_eq!(policy!(policy = ALL, attempts = 2), ALL.attempts(2));
}
