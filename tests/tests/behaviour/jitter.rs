//! `jitter`: waits are spread within the cap, and drawn for each one.
//!
//! The timer sleeps in whole milliseconds, so waits are read from the events, which contain them as
//! drawn.

use std::time::Duration;

use retry_runtime::{Jitter, Policy, policy, retry};

use crate::support::{Calls, Failure, millis, secs};

/// The waits of a function with these options.
macro_rules! waits {
    ($($options:tt)*) => {{
        #[retry($($options)*, on_retry = |event| waits.push(event.wait()))]
        async fn fetch(waits: &mut Vec<Duration>) -> Result<(), Failure> {
            Err(Failure::Corrupt)
        }
        let mut waits = Vec::new();
        fetch(&mut waits).await.unwrap_err();
        waits
    }};
}

fn all_within(waits: &[Duration], shortest: Duration, longest: Duration) {
    for wait in waits {
        assert!((shortest..=longest).contains(wait), "{wait:?} not in {shortest:?}..={longest:?}");
    }
}

/// Asserts that the waits fill the interval: with 200 of them, the probability of missing any given
/// tenth of it is below one in a billion.
fn all_over(waits: &[Duration], shortest: Duration, longest: Duration) {
    assert!(waits.len() >= 199);
    let tenth = longest.saturating_sub(shortest) / 10;
    for i in 0..10 {
        let (from, to) = (shortest + tenth * i, shortest + tenth * (i + 1));
        assert!(waits.iter().any(|wait| (from..=to).contains(wait)), "none in {from:?}..={to:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_bare_jitter_is_thirty_percent_either_way() {
    let waits = waits!(attempts = 200, backoff = fixed, initial_delay = "10s", jitter);
    all_within(&waits, secs(7), secs(13));
    all_over(&waits, secs(7), secs(13));
}

#[tokio::test(start_paused = true)]
async fn a_factor_is_a_share_either_way() {
    let waits = waits!(attempts = 200, backoff = fixed, initial_delay = "10s", jitter = 0.1);
    all_within(&waits, secs(9), secs(11));
    all_over(&waits, secs(9), secs(11));
}

#[tokio::test(start_paused = true)]
async fn at_the_cap_the_interval_is_cut_and_not_the_draw() {
    let waits = waits!(attempts = 200, backoff = fixed, initial_delay = "30s", jitter);
    all_within(&waits, secs(21), secs(30));
    all_over(&waits, secs(21), secs(30));
    let at_the_cap = waits.iter().filter(|wait| **wait == secs(30)).count();
    assert!(at_the_cap < 3, "{at_the_cap} of 199 pile up at the cap");
}

#[tokio::test(start_paused = true)]
async fn full_jitter_is_anything_up_to_the_wait() {
    let waits = waits!(attempts = 200, backoff = fixed, initial_delay = "10s", jitter = full);
    all_within(&waits, secs(0), secs(10));
    all_over(&waits, secs(0), secs(10));
}

#[tokio::test(start_paused = true)]
async fn equal_jitter_keeps_half_of_the_wait() {
    let waits = waits!(attempts = 200, backoff = fixed, initial_delay = "10s", jitter = equal);
    all_within(&waits, secs(5), secs(10));
    all_over(&waits, secs(5), secs(10));
}

#[tokio::test(start_paused = true)]
async fn decorrelated_jitter_grows_from_the_wait_before() {
    let waits =
        waits!(attempts = 300, initial_delay = "100ms", max_delay = "20s", jitter = decorrelated);
    all_within(&waits, millis(100), secs(20));
    all_within(&waits[..1], millis(100), millis(300));
    for two in waits.windows(2) {
        assert!(two[1] <= two[0] * 3, "{two:?}");
    }
    assert!(waits.iter().any(|wait| *wait > secs(5)), "it grows");
}

#[tokio::test(start_paused = true)]
async fn each_wait_has_its_own_random_number() {
    let mut waits = waits!(attempts = 200, backoff = fixed, initial_delay = "10s", jitter);
    waits.sort_unstable();
    waits.dedup();
    assert!(waits.len() > 190, "only {} different waits", waits.len());
}

#[tokio::test(start_paused = true)]
async fn without_jitter_waits_are_exact() {
    let waits = waits!(attempts = 4, jitter = none);
    assert_eq!(waits, [secs(1), secs(2), secs(4)]);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_the_jittered_delay() {
    let mut waits = Vec::new();
    #[retry(attempts = 50, backoff = fixed, jitter, on_retry = |event| waits.push(event.wait()))]
    async fn fetch(calls: &Calls, waits: &mut Vec<Duration>) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    fetch(&calls, &mut waits).await.unwrap_err();
    assert_eq!(waits.len(), 49);
    for (gap, wait) in calls.gaps().into_iter().zip(waits) {
        assert!(wait <= gap && gap <= wait + millis(1), "{gap:?} for {wait:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn upwards_waits_keep_their_spread_below_max_delay() {
    let waits = waits!(attempts = 40, jitter = up(0.5), max_delay = "20s");
    for (wait, curve) in waits.iter().zip([1, 2, 4, 8]) {
        assert!(*wait >= secs(curve) && *wait <= secs(curve) * 3 / 2, "{waits:?}");
    }
    assert!(waits[4..].iter().all(|wait| *wait >= secs(10) && *wait <= secs(20)), "{waits:?}");
    let (shortest, longest) = (waits[4..].iter().min().unwrap(), waits[4..].iter().max().unwrap());
    assert!(*longest > *shortest + secs(5), "{waits:?}");

    let waits = waits!(
        attempts = 40,
        backoff = fixed,
        initial_delay = "1s",
        jitter = "250ms..2s",
        max_delay = "2s"
    );
    assert!(waits.iter().all(|wait| *wait >= millis(250) && *wait <= secs(2)), "{waits:?}");
    let at_the_cap = waits.iter().filter(|wait| **wait == secs(2)).count();
    assert!(at_the_cap < 5, "they do not pile up at the cap: {waits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_least_time_that_is_added_makes_waits_of_zero_longer() {
    #[retry(attempts = unlimited, budget = "1s", backoff = fixed, initial_delay = "0s", jitter = "100ms..100ms")]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [millis(100); 10]);
}

#[tokio::test(start_paused = true)]
async fn a_servers_word_is_lengthened_in_the_same_way() {
    #[retry(attempts = 2, jitter = "100ms..100ms", retry_after = |_| Some(secs(7)))]
    async fn fetch(calls: &Calls) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.gaps(), [millis(7100)]);
}

#[tokio::test(start_paused = true)]
async fn the_share_may_be_a_value_of_runtime() {
    #[retry(attempts = 9, backoff = fixed, jitter = up(share))]
    async fn fetch(calls: &Calls, share: f64) -> Result<(), Failure> {
        Err(Failure::Busy(calls.make()))
    }
    for (share, longest) in [(0.5, millis(1_500)), (9.0, secs(2)), (0.0, secs(1))] {
        let calls = Calls::new();
        fetch(&calls, share).await.unwrap_err();
        let within = |gap: &Duration| *gap >= secs(1) && *gap <= longest + millis(1);
        assert!(calls.gaps().iter().all(within), "{share}: {:?}", calls.gaps());
    }
}

const UP: Policy = policy!(jitter = up(0.5));
const ADDED: Policy = policy!(jitter = "100ms..250ms");

#[test]
fn a_policy_has_the_interval_as_well() {
    assert_eq!(UP, Policy::new().jitter(Jitter::Up(0.5)));
    assert_eq!(UP.wait_interval(2, None), (secs(2), secs(3)));
    assert_eq!(UP.wait_interval(9, None), (secs(15), secs(30)), "as wide below `max_delay`");
    let (least, most) = (millis(100), millis(250));
    assert_eq!(ADDED, Policy::new().jitter(Jitter::Added { least, most }));
    assert_eq!(ADDED.wait_interval(2, None), (millis(2_100), millis(2_250)));
    let cut = ADDED.max_delay(millis(2_200));
    assert_eq!(cut.wait_interval(2, None), (millis(2_050), millis(2_200)));
}

#[test]
fn files_have_it_as_text() {
    for (text, jitter) in [
        ("\"up(0.25)\"", Jitter::Up(0.25)),
        ("\"0s..250ms\"", Jitter::Added { least: Duration::ZERO, most: millis(250) }),
    ] {
        let file = format!("{{\"jitter\":{text}}}");
        let policy: Policy = serde_json::from_str(&file).unwrap();
        assert_eq!(policy, Policy::new().jitter(jitter));
        assert_eq!(serde_json::to_string(&policy).unwrap(), file);
    }
    let reversed = serde_json::from_str::<Policy>("{\"jitter\":\"5s..1s\"}").unwrap_err();
    assert!(reversed.to_string().contains("ends before it begins"), "{reversed}");
    let above = serde_json::from_str::<Policy>("{\"jitter\":\"up(1.5)\"}").unwrap_err();
    assert!(above.to_string().contains("at most 1.0"), "{above}");
}
