//! After the probes: a share of the calls that grows, or a time after which one success is enough.

use std::time::Duration;

use retry_runtime::{BreakerConfig, CircuitBreaker, HalfOpen, Rejected, State};
use tokio::time::{advance, sleep};

const S: Duration = Duration::from_secs(1);
const GRADUAL: BreakerConfig = BreakerConfig::new()
    .failure_rate(0.5)
    .minimum_calls(10)
    .timeout(Duration::from_secs(30))
    .half_open(HalfOpen::Gradual);

/// A breaker whose probes have just succeeded.
async fn recovering(config: BreakerConfig) -> CircuitBreaker {
    let breaker = CircuitBreaker::new("db", config.success_threshold(2));
    breaker.force_open();
    breaker.restore(State::HalfOpen, 0, Duration::ZERO);
    advance(Duration::from_millis(1)).await;
    for _ in 0..2 {
        breaker.try_acquire().expect("a probe is admitted").success();
    }
    breaker
}

/// The number of `calls`, all successful and within a second, that are admitted.
async fn admitted(breaker: &CircuitBreaker, calls: u32) -> u32 {
    let mut admitted = 0;
    for _ in 0..calls {
        if let Ok(permit) = breaker.try_acquire() {
            permit.success();
            admitted += 1;
        }
        advance(S / calls).await;
    }
    admitted
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_just_come_back_gets_more_and_more_of_the_calls() {
    let breaker = recovering(GRADUAL).await;
    for share in [1, 5, 25, 50] {
        for second in 1..=3 {
            let admitted = admitted(&breaker, 10_000).await;
            let meant = 100 * share;
            assert!(admitted.abs_diff(meant) <= meant / 10, "{share} %, {second}: {admitted}");
            assert_eq!(breaker.state(), State::HalfOpen);
        }
    }
    assert_eq!(admitted(&breaker, 10_000).await, 10_000);
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn without_stages_it_gets_all_of_them_at_once() {
    let breaker = recovering(GRADUAL.half_open(HalfOpen::Probes)).await;
    assert_eq!(admitted(&breaker, 1_000).await, 1_000);
}

#[tokio::test(start_paused = true)]
async fn recovered_is_announced_only_when_it_closes() {
    let breaker = CircuitBreaker::new("db", GRADUAL.stage_time(S).success_threshold(1));
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = seen.clone();
    breaker.on_transition(move |transition| {
        log.lock().unwrap().push((transition.to, transition.cause.to_string()));
    });
    breaker.restore(State::HalfOpen, 0, Duration::ZERO);
    breaker.try_acquire().unwrap().success();
    for _ in 0..4 {
        breaker.try_acquire().expect("the first of a stage is admitted").success();
        sleep(S).await;
    }
    assert_eq!(breaker.state(), State::HalfOpen, "until a call comes");
    breaker.try_acquire().unwrap().success();
    let seen = seen.lock().unwrap();
    let states: Vec<State> = seen.iter().map(|(to, _)| *to).collect();
    assert_eq!(states, [State::Open, State::HalfOpen, State::Closed]);
    assert!(seen[2].1.contains("recover") || seen[2].1.contains("succeed"), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_stage_without_a_success_does_not_end() {
    let breaker = recovering(GRADUAL.stage_time(S)).await;
    sleep(10 * S).await;
    assert!(breaker.try_acquire().is_ok(), "the first arrival");
    for _ in 1..50 {
        assert!(breaker.try_acquire().is_err(), "one in a hundred");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_does_not_lock_a_breaker_that_is_seldom_called() {
    let breaker = recovering(GRADUAL).await;
    drop(breaker.try_acquire().expect("the first of a stage is admitted"));
    let mut minutes = 0;
    while breaker.state() != State::Closed {
        advance(60 * S).await;
        minutes += 1;
        breaker.try_acquire().expect("the server is well").success();
    }
    assert_eq!(minutes, 5, "one for each stage, and one that closes it");
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_all_dropped_are_admitted_one_for_each_stage_time() {
    let breaker = recovering(GRADUAL.stage_time(S)).await;
    let mut admitted = 0;
    // A hundred calls a second, for ten seconds: one in a hundred, and the one that follows a
    // silence.
    for _ in 0..1_000 {
        admitted += u32::from(breaker.try_acquire().is_ok());
        advance(S / 100).await;
    }
    assert!((9..=21).contains(&admitted), "{admitted}");
    assert_eq!(breaker.state(), State::HalfOpen);
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_holds_its_stage_until_it_is_overdue() {
    let breaker = recovering(GRADUAL).await;
    let running = breaker.try_acquire().expect("the first of a stage is admitted");
    advance(29 * S).await;
    assert!(breaker.try_acquire().is_err(), "it may still succeed");
    advance(S).await;
    let next = breaker.try_acquire().expect("it has not reported for the open time");
    assert!(breaker.try_acquire().is_err());
    drop(next);
    // A server that takes longer than that is slow, and not down.
    running.success();
    advance(3 * S).await;
    breaker.try_acquire().expect("the next stage").success();
    let admitted = (1..100).filter(|_| breaker.try_acquire().is_ok()).count();
    assert!((3..=7).contains(&admitted), "5 %: {admitted}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_leaves_room_for_the_next_one() {
    let breaker = recovering(GRADUAL).await;
    breaker.try_acquire().expect("the first of a stage is admitted").failure();
    advance(2 * S).await;
    assert!(breaker.try_acquire().is_err(), "the stage is not over");
    advance(S).await;
    assert!(breaker.try_acquire().is_ok());
    assert!(breaker.try_acquire().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_success_ends_the_stage_that_admitted_its_call() {
    let breaker = recovering(GRADUAL).await;
    let mut first = vec![breaker.try_acquire().unwrap()];
    first.extend((0..300).filter_map(|_| breaker.try_acquire().ok()));
    assert!(first.len() >= 3);
    advance(5 * S).await;
    first.pop().unwrap().success();
    let second = breaker.try_acquire().expect("the first of the next stage");
    for late in first {
        late.success();
    }
    advance(5 * S).await;
    let admitted = (0..100).filter(|_| breaker.try_acquire().is_ok()).count();
    assert!((3..=7).contains(&admitted), "5 %: {admitted}");
    second.success();
    let admitted = (0..100).filter(|_| breaker.try_acquire().is_ok()).count();
    assert!((22..=28).contains(&admitted), "25 %: {admitted}");
}

#[tokio::test(start_paused = true)]
async fn a_stage_reports_that_it_admits_only_if_the_next_call_is_admitted() {
    let breaker = recovering(GRADUAL.stage_time(S)).await;
    let (mut admitted, mut calls) = (0, 0);
    while breaker.state() != State::Closed {
        let reported = breaker.until_admits() == Some(Duration::ZERO);
        let permit = breaker.try_acquire();
        assert_eq!(permit.is_ok(), reported, "call {calls}");
        calls += 1;
        if let Ok(permit) = permit {
            permit.success();
            admitted += 1;
        }
        advance(S / 50).await;
    }
    assert!(calls > 200 && admitted < 100, "{admitted} of {calls}");
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_stage_count_as_in_a_closed_breaker() {
    let breaker = recovering(GRADUAL).await;
    let mut failed = 0;
    while breaker.state() == State::HalfOpen {
        if let Ok(permit) = breaker.try_acquire() {
            permit.failure_with(&"still down");
            failed += 1;
        }
    }
    assert_eq!(failed, 10, "as many as a rate needs");
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state, snapshot.reopenings), (State::Open, 1));
    assert_eq!(snapshot.opened_by.as_deref(), Some("still down"));

    let streak = BreakerConfig::new().failure_threshold(3).half_open(HalfOpen::Gradual);
    let breaker = recovering(streak).await;
    let mut failed = 0;
    while breaker.state() == State::HalfOpen {
        if let Ok(permit) = breaker.try_acquire() {
            permit.failure();
            failed += 1;
        }
    }
    assert_eq!(failed, 3, "or in a row");
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_of_a_stage_is_not_a_success() {
    let config = GRADUAL.stage_time(S).slow_calls(S, 1.0);
    let breaker = recovering(config).await;
    let permit = breaker.try_acquire().expect("the first arrival");
    sleep(2 * S).await;
    permit.success();
    assert!(breaker.try_acquire().is_ok(), "no call is under way");
    assert!((1..50).all(|_| breaker.try_acquire().is_err()), "the stage goes on");
    assert_eq!(breaker.snapshot().slow_calls, 1);
}

#[tokio::test(start_paused = true)]
async fn the_time_until_admission_follows_the_stage_and_is_spread() {
    let breaker = recovering(GRADUAL).await;
    assert_eq!(breaker.until_admits(), Some(Duration::ZERO), "the first of a stage is admitted");
    breaker.try_acquire().unwrap().success();
    sleep(S).await;
    let waits: Vec<Duration> = (0..50).filter_map(|_| breaker.until_admits()).collect();
    assert_eq!(waits.len(), 50);
    assert!(waits.iter().all(|wait| *wait >= 2 * S && *wait <= 4 * S), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait != waits[0]), "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_started_as_a_probe_does_not_count_in_a_stage() {
    let config = GRADUAL.half_open_requests(3).success_threshold(2);
    let breaker = CircuitBreaker::new("db", config);
    breaker.restore(State::HalfOpen, 0, Duration::ZERO);
    let late = breaker.try_acquire().unwrap();
    for _ in 0..2 {
        breaker.try_acquire().unwrap().success();
    }
    late.failure();
    assert_eq!(breaker.state(), State::HalfOpen);
}

#[tokio::test(start_paused = true)]
async fn one_success_is_enough_after_a_while() {
    let config = BreakerConfig::new().success_threshold(3).half_open_for(60 * S);
    let breaker = CircuitBreaker::new("db", config);
    breaker.restore(State::HalfOpen, 0, Duration::ZERO);
    breaker.try_acquire().unwrap().success();
    sleep(59 * S).await;
    breaker.try_acquire().unwrap().forgive();
    assert_eq!(breaker.state(), State::HalfOpen);
    sleep(S).await;
    breaker.try_acquire().expect("it has closed").success();
    assert_eq!(breaker.state(), State::Closed);
}

#[tokio::test(start_paused = true)]
async fn without_a_success_it_stays_half_open_however_long() {
    let config = BreakerConfig::new().half_open_for(60 * S);
    let breaker = CircuitBreaker::new("db", config);
    breaker.restore(State::HalfOpen, 0, Duration::ZERO);
    breaker.try_acquire().unwrap().forgive();
    sleep(600 * S).await;
    let probe = breaker.try_acquire().unwrap();
    assert_eq!(breaker.state(), State::HalfOpen);
    probe.success();
    assert_eq!(breaker.state(), State::Closed, "the first success comes after that time");
    assert!(breaker.try_acquire().map_err(|rejected: Rejected| rejected).is_ok());
}
