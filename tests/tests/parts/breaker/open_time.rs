//! The open time: how it grows while nothing recovers, and starts over once it does.

use std::time::Duration;

use proptest::prelude::*;
use retry_runtime::{BreakerConfig, CircuitBreaker, Rule, State};
use tokio::time::advance;

use super::{DEFAULT, FRAGILE, MILLI, TIMEOUT, breaker, fail, succeed};

const GROWING: BreakerConfig =
    FRAGILE.timeout_growth(2.0).max_timeout(Duration::from_secs(200)).success_threshold(1);

/// Waits until the breaker may probe, and fails the probe. Returns the next open time in seconds.
async fn reopen(breaker: &CircuitBreaker) -> u64 {
    advance(breaker.remaining()).await;
    fail(breaker, 1);
    breaker.remaining().as_secs()
}

#[tokio::test(start_paused = true)]
async fn the_open_time_grows_with_each_failed_probe_and_closing_resets_it() {
    let breaker = breaker(GROWING);
    fail(&breaker, 1);
    assert_eq!(breaker.remaining(), TIMEOUT);
    for (reopenings, expected) in [(1, 60), (2, 120), (3, 200), (4, 200)] {
        assert_eq!(reopen(&breaker).await, expected);
        assert_eq!(breaker.snapshot().reopenings, reopenings);
        advance(breaker.remaining().saturating_sub(MILLI)).await;
        assert_eq!(breaker.try_acquire().unwrap_err().remaining, MILLI);
    }

    advance(breaker.remaining()).await;
    succeed(&breaker, 1);
    assert_eq!((breaker.state(), breaker.snapshot().reopenings), (State::Closed, 0));
    fail(&breaker, 1);
    assert_eq!(breaker.remaining(), TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn reset_force_and_restore_reset_the_open_time() {
    let acts: [fn(&CircuitBreaker); 3] = [
        CircuitBreaker::reset,
        |breaker| {
            breaker.force_closed();
            breaker.reset();
        },
        |breaker| breaker.restore(State::Closed, 0, Duration::ZERO),
    ];
    for act in acts {
        let breaker = breaker(GROWING);
        fail(&breaker, 1);
        assert_eq!(reopen(&breaker).await, 60);
        act(&breaker);
        fail(&breaker, 1);
        assert_eq!(breaker.remaining(), TIMEOUT);
    }
    let breaker = breaker(GROWING);
    fail(&breaker, 1);
    assert_eq!(reopen(&breaker).await, 60);
    breaker.restore(State::Open, 1, TIMEOUT);
    assert_eq!(reopen(&breaker).await, 60, "the first time again");
}

#[tokio::test(start_paused = true)]
async fn a_slow_probe_makes_it_grow_and_a_cancelled_one_does_not() {
    let breaker = breaker(GROWING.slow_calls(MILLI, 1.0));
    fail(&breaker, 1);
    advance(TIMEOUT).await;
    let probe = breaker.try_acquire().unwrap();
    advance(MILLI * 2).await;
    probe.success();
    assert_eq!(breaker.remaining(), TIMEOUT * 2);

    advance(TIMEOUT * 2).await;
    drop(breaker.try_acquire().unwrap());
    assert_eq!((breaker.state(), breaker.snapshot().reopenings), (State::HalfOpen, 1));
}

#[tokio::test(start_paused = true)]
async fn the_maximum_open_time_still_has_jitter() {
    let mut times = Vec::new();
    for _ in 0..100 {
        let breaker = breaker(GROWING.timeout_jitter(0.5));
        fail(&breaker, 1);
        for _ in 0..5 {
            reopen(&breaker).await;
        }
        times.push(breaker.remaining());
    }
    let longest = Duration::from_secs(200);
    assert!(times.iter().all(|time| (longest * 2 / 3..=longest).contains(time)), "{times:?}");
    times.sort_unstable();
    times.dedup();
    assert!(times.len() > 50);
}

#[test]
fn an_invalid_growth_is_refused() {
    let broken = |config: BreakerConfig| -> Vec<Rule> {
        config.validate().map_or_else(|invalid| invalid.broken().iter().collect(), |()| Vec::new())
    };
    for growth in [0.99, -2.0, f64::NAN, f64::INFINITY] {
        assert_eq!(broken(DEFAULT.timeout_growth(growth)), [Rule::TimeoutGrowthOutOfRange]);
    }
    let long = DEFAULT.timeout_growth(2.0).timeout(TIMEOUT * 20);
    assert_eq!(broken(long), [Rule::MaxTimeoutNotAboveTimeout], "5 min unless set");
    assert_eq!(broken(long.max_timeout(TIMEOUT * 21)), []);
    assert_eq!(broken(DEFAULT.timeout_growth(1.0)), []);
    assert_eq!(DEFAULT.timeout(TIMEOUT * 20).get_max_timeout(), TIMEOUT * 20);
}

proptest! {
    #[test]
    fn it_never_shrinks_and_never_exceeds_its_end(
        timeout in 1_u64..10_000,
        end in 1_u64..100_000,
        growth in 1.0_f64..100.0,
        jitter in 0.0_f64..=1.0,
        reopenings in prop_oneof![0_u32..20, Just(u32::MAX)],
    ) {
        let timeout = Duration::from_millis(timeout);
        let end = timeout + Duration::from_millis(end);
        let config = DEFAULT.timeout(timeout).timeout_growth(growth).max_timeout(end);
        let config = config.timeout_jitter(jitter);
        let (shortest, longest) = config.open_time(reopenings);
        prop_assert!(timeout <= shortest && shortest <= longest);
        if growth > 1.0 {
            prop_assert!(longest <= end);
        }
        let (next_shortest, next_longest) = config.open_time(reopenings.saturating_add(1));
        prop_assert!(shortest <= next_shortest && longest <= next_longest);
    }
}
