//! The circuit breaker: its guarantees, and the mistakes that others made.
//!
//! On virtual time, except for races, which use real threads.

mod families;
mod giving_up;
mod half_open;
mod hold;
mod remote_state;
mod observe_only;
mod open_time;
mod outcomes;
mod scenarios;
mod windows;

use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use retry_runtime::{
    BreakerConfig, Cause, CircuitBreaker, Interrupted, Permit, Rejected, State, Transition,
};
use tokio::time::advance;

const TIMEOUT: Duration = Duration::from_secs(30);
const MILLI: Duration = Duration::from_millis(1);
const NEARLY: Duration = TIMEOUT.saturating_sub(MILLI);
const DEFAULT: BreakerConfig = BreakerConfig::new();
const FRAGILE: BreakerConfig = DEFAULT.failure_threshold(1);

fn breaker(config: BreakerConfig) -> CircuitBreaker {
    CircuitBreaker::new("db", config)
}

fn succeed(breaker: &CircuitBreaker, times: u32) {
    for _ in 0..times {
        breaker.try_acquire().expect("admitted").success();
    }
}

fn fail(breaker: &CircuitBreaker, times: u32) {
    for _ in 0..times {
        breaker.try_acquire().expect("admitted").failure();
    }
}

/// A breaker that is open, with its open time over.
async fn due(config: BreakerConfig) -> CircuitBreaker {
    let breaker = breaker(config.failure_threshold(1));
    fail(&breaker, 1);
    advance(config.get_timeout()).await;
    breaker
}

fn log_of(breaker: &CircuitBreaker) -> Arc<Mutex<Vec<Transition>>> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let writer = Arc::clone(&log);
    breaker.on_transition(move |transition| writer.lock().unwrap().push(transition.clone()));
    log
}

#[tokio::test(start_paused = true)]
async fn consecutive_failures_open_it_and_time_and_probes_close_it() {
    let breaker = breaker(DEFAULT);
    let log = log_of(&breaker);
    fail(&breaker, 4);
    assert_eq!(breaker.state(), State::Closed);
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
    assert_eq!(breaker.snapshot().consecutive_failures, 5);

    advance(NEARLY).await;
    let rejected = breaker.try_acquire().unwrap_err();
    assert_eq!(rejected.remaining, MILLI);
    assert!(breaker.is_open());
    advance(MILLI).await;
    assert_eq!(breaker.state(), State::Open, "until a call probes it");
    assert!(!breaker.is_open(), "but that call is not refused");

    succeed(&breaker, 2);
    assert_eq!(breaker.state(), State::HalfOpen);
    succeed(&breaker, 1);
    assert_eq!(breaker.state(), State::Closed);

    let causes: Vec<_> = log.lock().unwrap().iter().map(|transition| transition.cause).collect();
    assert_eq!(causes, [Cause::Failures, Cause::TimeUp, Cause::Recovered]);
}

#[test]
fn a_success_ends_the_streak_and_a_forgiven_call_does_not() {
    let breaker = breaker(DEFAULT);
    fail(&breaker, 4);
    succeed(&breaker, 1);
    fail(&breaker, 4);
    assert_eq!(breaker.state(), State::Closed);
    breaker.try_acquire().unwrap().forgive();
    drop(breaker.try_acquire().unwrap());
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn one_failed_probe_opens_it_for_the_whole_time() {
    let breaker = due(DEFAULT).await;
    succeed(&breaker, 2);
    fail(&breaker, 1);
    assert_eq!(breaker.remaining(), TIMEOUT);
    advance(TIMEOUT).await;
    succeed(&breaker, 2);
    assert_eq!(breaker.state(), State::HalfOpen, "successes count from zero again");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_concurrent_calls_get_at_most_the_probes() {
    const THREADS: usize = 20;
    for requests in [1, 3, 7] {
        let breaker = due(DEFAULT.half_open_requests(requests)).await;
        let runtime = tokio::runtime::Handle::current();
        let (start, end) = (Barrier::new(THREADS), Barrier::new(THREADS));
        let admitted = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    // For the runtime's clock.
                    let _guard = runtime.enter();
                    start.wait();
                    let permits: Vec<Permit<'_>> =
                        (0..50).filter_map(|_| breaker.try_acquire().ok()).collect();
                    admitted.fetch_add(u32::try_from(permits.len()).unwrap(), Ordering::Relaxed);
                    end.wait();
                });
            }
        });
        assert_eq!(admitted.load(Ordering::Relaxed), requests);
        assert_eq!(breaker.snapshot().probes, 0, "all given back");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_probe_gives_its_permit_back() {
    let breaker = Arc::new(due(DEFAULT.half_open_requests(1)).await);
    let probe = Arc::clone(&breaker);
    let task = tokio::spawn(async move {
        let _permit = probe.try_acquire().unwrap();
        std::future::pending::<()>().await;
    });
    tokio::task::yield_now().await;
    assert_eq!(breaker.snapshot().probes, 1);
    assert_eq!(breaker.try_acquire().unwrap_err().remaining, Duration::ZERO);

    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    let snapshot = breaker.snapshot();
    assert_eq!(
        (snapshot.state, snapshot.probes, snapshot.probe_successes),
        (State::HalfOpen, 0, 0)
    );
    assert!(breaker.try_acquire().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_panicking_probe_is_a_failed_one() {
    let breaker = due(DEFAULT).await;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _permit = breaker.try_acquire().unwrap();
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_panicking_call_is_a_failed_one() {
    for config in [FRAGILE, DEFAULT.failure_rate(1.0).minimum_calls(1)] {
        let breaker = breaker(config);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _permit = breaker.try_acquire().unwrap();
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        assert_eq!(breaker.state(), State::Open);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hung_probe_frees_its_slot_after_the_open_time() {
    let breaker = due(DEFAULT.half_open_requests(1).success_threshold(2)).await;
    let hung = breaker.try_acquire().unwrap();
    advance(NEARLY).await;
    assert!(breaker.try_acquire().is_err());
    advance(MILLI).await;
    let next = breaker.try_acquire().expect("the slot is free");
    assert!(breaker.try_acquire().is_err(), "but it is one slot");

    hung.success();
    assert_eq!(breaker.snapshot().probes, 1, "a late word frees no other's slot");
    assert_eq!(breaker.snapshot().probe_successes, 1, "and is still true");
    next.success();
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_lost_its_slot_is_slow_only_if_it_took_so_long() {
    let config = DEFAULT.half_open_requests(1).success_threshold(1);
    for (took, slow) in [(TIMEOUT * 2, false), (TIMEOUT * 2 + MILLI, true)] {
        let breaker = due(config.slow_calls(TIMEOUT * 2, 1.0)).await;
        let log = log_of(&breaker);
        let probe = breaker.try_acquire().unwrap();
        advance(TIMEOUT).await;
        let _other = breaker.try_acquire().expect("the slot of the silent one");
        advance(took.checked_sub(TIMEOUT).unwrap()).await;
        probe.success();
        let expected = if slow { Cause::ProbeSlow } else { Cause::Recovered };
        assert_eq!(log.lock().unwrap().last().unwrap().cause, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn probes_that_all_take_longer_than_the_open_time_still_close_it() {
    let breaker = due(DEFAULT.half_open_requests(1).timeout(Duration::from_secs(1))).await;
    let mut waiting = std::collections::VecDeque::new();
    for _ in 0..10 {
        waiting.extend(breaker.try_acquire());
        advance(Duration::from_secs(1)).await;
        if waiting.len() > 3 {
            waiting.pop_front().unwrap().success();
        }
    }
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn more_successes_than_probes_at_a_time_are_needed_and_had() {
    let breaker = due(DEFAULT.half_open_requests(2).success_threshold(50)).await;
    succeed(&breaker, 49);
    assert_eq!(breaker.state(), State::HalfOpen);
    succeed(&breaker, 1);
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn results_of_an_earlier_state_move_nothing() {
    let breaker = breaker(FRAGILE.success_threshold(1));
    let mut closed: Vec<_> = (0..4).map(|_| breaker.try_acquire().unwrap()).collect();
    fail(&breaker, 1);

    let before = breaker.remaining();
    advance(Duration::from_secs(1)).await;
    closed.pop().unwrap().failure();
    assert_eq!(breaker.remaining() + Duration::from_secs(1), before, "not open for longer");
    advance(TIMEOUT).await;

    let (probe, late_probe) = (breaker.try_acquire().unwrap(), breaker.try_acquire().unwrap());
    closed.pop().unwrap().failure();
    assert_eq!(breaker.state(), State::HalfOpen);
    closed.pop().unwrap().success();
    assert_eq!(breaker.state(), State::HalfOpen);

    probe.success();
    assert_eq!(breaker.state(), State::Closed);
    closed.pop().unwrap().failure();
    late_probe.failure();
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state, snapshot.consecutive_failures), (State::Closed, 0));
}

#[tokio::test(start_paused = true)]
async fn a_probe_of_an_earlier_half_open_state_does_not_count() {
    let breaker = due(DEFAULT.half_open_requests(2)).await;
    let earlier = breaker.try_acquire().unwrap();
    fail(&breaker, 1);
    advance(TIMEOUT).await;
    let _probe = breaker.try_acquire().unwrap();
    earlier.failure();
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state, snapshot.probes), (State::HalfOpen, 1));
}

#[test]
fn it_is_shared_and_never_copied() {
    static DB: CircuitBreaker = CircuitBreaker::new("static", FRAGILE);

    fn shared<T: Send + Sync + UnwindSafe + RefUnwindSafe>() {}

    // `Clone` would make both impls apply, and the call ambiguous.
    trait NotClone<A> {
        fn check() {}
    }
    impl<T: ?Sized> NotClone<()> for T {}
    impl<T: Clone> NotClone<u8> for T {}

    shared::<CircuitBreaker>();
    shared::<Permit<'static>>();

    <CircuitBreaker as NotClone<_>>::check();
    <Permit<'static> as NotClone<_>>::check();

    std::thread::spawn(|| DB.try_acquire().unwrap().failure()).join().unwrap();
    assert_eq!(DB.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn the_open_time_has_jitter_if_configured() {
    let mut times = Vec::new();
    for _ in 0..200 {
        let breaker = breaker(FRAGILE.timeout_jitter(0.5));
        fail(&breaker, 1);
        times.push(breaker.remaining());
    }
    assert!(times.iter().all(|time| (TIMEOUT..=TIMEOUT * 3 / 2).contains(time)));
    times.sort_unstable();
    times.dedup();
    assert!(times.len() > 100);
    assert!(times[times.len() - 1] > times[0] + TIMEOUT / 4);
}

#[test]
fn a_listener_may_use_the_breaker_and_gets_events_in_order() {
    let breaker = Arc::new(breaker(FRAGILE));
    let weak = Arc::downgrade(&breaker);
    breaker.on_transition(move |transition| {
        let breaker = weak.upgrade().unwrap();
        // Each of these takes the lock.
        let _ = (breaker.snapshot(), breaker.try_acquire());
        breaker.on_transition(|_| ());
        if transition.to == State::Open {
            breaker.reset();
        }
    });
    let log = log_of(&breaker);
    fail(&breaker, 1);
    let states: Vec<_> = log.lock().unwrap().iter().map(|each| (each.from, each.to)).collect();
    assert_eq!(states, [(State::Closed, State::Open), (State::Open, State::Closed)]);
}

#[test]
fn transitions_of_many_threads_form_one_chain() {
    let breaker = breaker(FRAGILE);
    let log = log_of(&breaker);
    std::thread::scope(|scope| {
        for i in 0..4 {
            let breaker = &breaker;
            scope.spawn(move || {
                for _ in 0..200 {
                    if i % 2 == 0 { breaker.force_open() } else { breaker.reset() }
                }
            });
        }
    });
    let log = log.lock().unwrap();
    assert_eq!(log[0].from, State::Closed);
    assert!(log.windows(2).all(|pair| pair[0].to == pair[1].from));
    assert_eq!(log[log.len() - 1].to, breaker.state());
}

#[test]
fn a_panicking_listener_does_not_affect_the_breaker() {
    let breaker = breaker(FRAGILE);
    breaker.on_transition(|_| panic!("on purpose"));
    let log = log_of(&breaker);
    fail(&breaker, 1);
    breaker.reset();
    fail(&breaker, 1);
    assert_eq!(log.lock().unwrap().len(), 3);
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn forced_states_last() {
    let breaker = breaker(FRAGILE);
    breaker.force_open();
    advance(TIMEOUT * 1_000).await;
    assert!(breaker.is_open());
    assert_eq!(breaker.remaining(), Duration::MAX);
    assert!(breaker.snapshot().forced);
    let rejected = breaker.try_acquire().unwrap_err();
    assert_eq!(rejected.to_string(), "circuit breaker `db` is open until it is reset");

    breaker.force_closed();
    assert!(!breaker.is_open());
    fail(&breaker, 100);
    assert_eq!(breaker.state(), State::Closed);

    let forced = breaker.try_acquire().unwrap();
    breaker.reset();
    assert!(!breaker.snapshot().forced);
    forced.failure();
    assert_eq!(breaker.state(), State::Closed);
    fail(&breaker, 1);
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn no_duration_is_too_long() {
    let breaker = breaker(FRAGILE.timeout(Duration::MAX).timeout_jitter(1.0));
    fail(&breaker, 1);
    assert_eq!(breaker.remaining(), Duration::MAX);
    advance(TIMEOUT * 1_000_000).await;
    assert!(breaker.try_acquire().is_err());

    let config = DEFAULT.slow_calls(Duration::MAX, 1.0).window_time(Duration::MAX);
    let breaker = CircuitBreaker::new("long", config.minimum_calls(1));
    succeed(&breaker, 1);
    advance(TIMEOUT).await;
    assert_eq!((breaker.state(), breaker.snapshot().calls), (State::Closed, 1));
}

#[test]
fn restored_counts_are_ignored_by_rates() {
    let rate = DEFAULT.failure_rate(1.0).minimum_calls(3);
    for (config, known) in [(rate, 0), (rate.failure_threshold(5), 4), (DEFAULT, 4)] {
        let breaker = breaker(config);
        breaker.restore(State::Closed, 4, Duration::ZERO);
        assert_eq!(breaker.snapshot().consecutive_failures, known);
        fail(&breaker, 1);
        assert_eq!(breaker.is_open(), known == 4);
    }
}

#[test]
fn settings_from_a_file_are_checked() {
    let invalid = DEFAULT.slow_calls(Duration::ZERO, 0.5).validate().unwrap_err();
    assert!(invalid.to_string().contains("every call takes longer than 0s"), "{invalid}");
    let invalid = CircuitBreaker::try_new("db", DEFAULT.half_open_requests(0)).unwrap_err();
    assert!(invalid.to_string().contains("`half_open_requests` must be at least 1"));
    let panicked = catch_unwind(|| CircuitBreaker::new("db", DEFAULT.half_open_requests(0)));
    let message = *panicked.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("`half_open_requests` must be at least 1"), "{message}");
}

#[test]
fn a_rejection_is_an_interruption() {
    let breaker = breaker(FRAGILE);
    fail(&breaker, 1);
    let rejected: Rejected = breaker.try_acquire().unwrap_err();
    assert!(rejected.to_string().starts_with("circuit breaker `db` is open for another "));
    let Interrupted::CircuitOpen { breaker, remaining, .. } = rejected.clone().into() else {
        panic!("another interruption");
    };
    assert_eq!((breaker, remaining), (rejected.breaker, rejected.remaining));
}

#[test]
fn a_permit_is_two_words() {
    assert_eq!(size_of::<Permit<'_>>(), 2 * size_of::<u64>());
    assert_eq!(size_of::<Option<Permit<'_>>>(), size_of::<Permit<'_>>());
}
