//! `backoff`, `initial_delay` and `max_delay`: the waits between calls.

use std::time::Duration;

use retry_runtime::{Backoff, Policy, Retrier, retry};
use tracing::Level;

use crate::support::{Calls, Failure, Recorded, listen, millis, secs, take_events};

fn seconds<const N: usize>(waits: [u64; N]) -> Vec<Duration> {
    waits.map(secs).to_vec()
}

/// The gaps between the calls of a function with these options.
macro_rules! gaps {
    ($($options:tt)*) => {{
        #[retry($($options)*)]
        async fn fetch(calls: &Calls) -> Result<(), Failure> {
            Err(Failure::Busy(calls.make()))
        }
        let calls = Calls::new();
        fetch(&calls).await.unwrap_err();
        calls.gaps()
    }};
}

#[tokio::test(start_paused = true)]
async fn every_curve_is_walked() {
    assert_eq!(gaps!(attempts = 4, backoff = fixed, initial_delay = "2s"), seconds([2, 2, 2]));
    assert_eq!(gaps!(attempts = 4, backoff = linear(increment = "2s")), seconds([1, 3, 5]));
    assert_eq!(gaps!(attempts = 4, backoff = exponential), seconds([1, 2, 4]));
    assert_eq!(gaps!(attempts = 4, backoff = exponential(base = 3.0)), seconds([1, 3, 9]));
    assert_eq!(gaps!(attempts = 6, backoff = fibonacci), seconds([1, 1, 2, 3, 5]));
    assert_eq!(gaps!(attempts = 4, backoff = custom("7s", "1s")), seconds([7, 1, 30]));
}

#[tokio::test(start_paused = true)]
async fn without_a_max_delay_a_curve_grows_on() {
    #[retry(attempts = 8, max_delay = limit)]
    async fn fetch(calls: &Calls, limit: Option<Duration>) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }

    let grows_on = seconds([1, 2, 4, 8, 16, 32, 64]);
    assert_eq!(gaps!(attempts = 8, max_delay = unlimited), grows_on);
    let minute = seconds([60, 120]);
    assert_eq!(gaps!(attempts = 3, initial_delay = "1m", max_delay = unlimited), minute);
    // Not set is the default.
    let calls = Calls::new();
    fetch(&calls, None).await.unwrap_err();
    assert_eq!(calls.gaps(), seconds([1, 2, 4, 8, 16, 30, 30]));
}

#[tokio::test(start_paused = true)]
async fn no_wait_is_longer_than_max_delay() {
    assert_eq!(gaps!(attempts = 5, max_delay = "3s"), seconds([1, 2, 3, 3]));
    assert_eq!(
        gaps!(attempts = 7, backoff = fibonacci, max_delay = "4s"),
        seconds([1, 1, 2, 3, 4, 4])
    );
    assert_eq!(
        gaps!(attempts = 4, backoff = linear(increment = "10m"), max_delay = "1m"),
        seconds([1, 60, 60])
    );
    assert_eq!(gaps!(attempts = 3, backoff = custom("2s"), max_delay = "5s"), seconds([2, 5]));
}

#[tokio::test(start_paused = true)]
async fn the_first_wait_is_cut_too() {
    let policy = Policy::new().initial_delay(secs(9)).max_delay(secs(2));
    let calls = Calls::new();
    let _ = Retrier::new(policy)
        .run(|| {
            calls.make();
            async { Err::<(), _>("down") }
        })
        .await;
    assert_eq!(calls.gaps(), seconds([2, 2]));
}

#[tokio::test(start_paused = true)]
async fn late_attempts_neither_overflow_nor_grow_beyond_the_cap() {
    for backoff in [
        Backoff::Exponential { base: 1e300 },
        Backoff::Linear { increment: Duration::MAX },
        Backoff::Fibonacci,
    ] {
        let policy = Policy::new().attempts(200).backoff(backoff).max_delay(millis(1_500));
        let calls = Calls::new();
        let _ = Retrier::new(policy)
            .run(|| {
                calls.make();
                async { Err::<(), _>("down") }
            })
            .await;
        let gaps = calls.gaps();
        assert_eq!(gaps.len(), 199, "{backoff:?}");
        assert!(gaps[3..].iter().all(|gap| *gap == millis(1_500)), "{backoff:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_duration_may_be_a_constant() {
    const FIRST: Duration = Duration::from_millis(250);
    assert_eq!(
        gaps!(attempts = 3, initial_delay = FIRST, max_delay = FIRST.saturating_mul(2)),
        [millis(250), millis(500)]
    );
}

#[tokio::test(start_paused = true)]
async fn zero_delays_do_not_wait() {
    assert_eq!(gaps!(attempts = 4, backoff = fixed, initial_delay = "0s"), seconds([0, 0, 0]));
}

#[tokio::test(start_paused = true)]
async fn the_curve_begins_after_a_first_delay() {
    assert_eq!(gaps!(attempts = 4, first_delay = "0s"), seconds([0, 1, 2]));
    assert_eq!(gaps!(attempts = 4, backoff = fixed, first_delay = "5s"), seconds([5, 1, 1]));
    assert_eq!(
        gaps!(attempts = 4, backoff = custom("2s", "3s"), first_delay = "9s"),
        seconds([9, 2, 3])
    );
    assert_eq!(
        gaps!(attempts = 4, first_delay = "0s", jitter = decorrelated, max_delay = "1s"),
        seconds([0, 1, 1]),
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_does_not_grow_may_be_longer_than_the_default_of_max_delay() {
    assert_eq!(gaps!(attempts = 3, backoff = fixed, initial_delay = "1m"), seconds([60, 60]));
    assert_eq!(gaps!(attempts = 4, backoff = custom("1s", "45s")), seconds([1, 45, 45]));
}

#[test]
fn the_waits_of_a_policy_end_where_a_call_would() {
    let policy = Policy::new().retries(4);
    assert!(policy.waits().eq(seconds([1, 2, 4, 8])));
    assert!(policy.budget(secs(7)).waits().eq(seconds([1, 2, 4])), "met exactly is within");
    assert!(policy.deadline(secs(7)).waits().eq(seconds([1, 2])));
    assert!(policy.retries(0).waits().next().is_none());
    assert_eq!(policy.retries(u32::MAX), policy.attempts(u32::MAX));
    let endless = policy.unlimited().max_delay(secs(5)).waits();
    assert!(endless.take(5).eq(seconds([1, 2, 4, 5, 5])));
}

/// Lists of no other test.
fn computed(millis: u64) -> Policy {
    let delays = vec![Duration::from_millis(millis), Duration::from_micros(4_567)];
    Policy::new().attempts(2).backoff(Backoff::custom(delays))
}

#[tokio::test(start_paused = true)]
async fn very_many_lists_of_delays_are_reported_once_with_the_function() {
    #[retry(policy = policy, name = "few.lists")]
    async fn few(policy: Policy) -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(policy = policy, name = "many.lists")]
    async fn many(policy: Policy, works: bool) -> Result<(), Failure> {
        if works { Ok(()) } else { Err(Failure::Corrupt) }
    }
    let is_told = |event: &Recorded| event.message.contains("lists of delays");
    listen();
    let first = computed(0);
    for millis in 1..900 {
        computed(millis);
    }
    // Few other tests keep lists, and none of them as many as are missing.
    many(computed(900), false).await.unwrap_err();
    for millis in 901..1_024 {
        computed(millis);
    }
    many(computed(5_000), true).await.unwrap();
    few(first).await.unwrap_err();
    few(Policy::new().backoff(Backoff::Custom(WRITTEN))).await.unwrap_err();
    assert!(!take_events().iter().any(is_told), "none failed by a list that came late");

    listen();
    many(computed(5_000), false).await.unwrap_err();
    many(computed(5_001), false).await.unwrap_err();
    few(computed(5_002)).await.unwrap_err();
    let heard = take_events();
    let told: Vec<_> = heard.iter().filter(|event| is_told(event)).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].level, told[0].field("name")), (Level::WARN, Some("many.lists")));
    assert!(told[0].message.contains("use a curve, or round the delays"), "{}", told[0].message);
    let lists: usize = told[0].field("lists").unwrap().parse().unwrap();
    assert!((1_025..1_100).contains(&lists), "{lists}");
}

/// Equal to a list that is kept.
const WRITTEN: &[Duration] = &[Duration::from_secs(5), Duration::from_micros(4_567)];

#[test]
fn runtime_delays_are_interned_once() {
    const WRITTEN: &[Duration] = &[Duration::from_secs(7)];

    let configured = || Backoff::custom(seconds([7, 11]));
    let (Backoff::Custom(one), Backoff::Custom(other)) = (configured(), configured()) else {
        panic!("it is a custom curve");
    };
    assert!(std::ptr::eq(one, other));
    assert!(Policy::new().backoff(configured()).retries(3).waits().eq(seconds([7, 11, 30])));
    assert_eq!(Backoff::custom(WRITTEN), Backoff::Custom(WRITTEN));
}
