//! Calls that are stored elsewhere during their waits make the same decisions as those that wait in
//! memory.

use std::future::ready;
use std::io::{Error, ErrorKind};
use std::ops::ControlFlow::{Break, Continue};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_runtime::durable::{CallState, Decision, Description, Failed};
use retry_runtime::matchers::{network, timeout};
use retry_runtime::{
    Attempt, Backoff, BreakerConfig, Cause, CircuitBreaker, Class, Interrupted, Policy, Reason,
    Retrier, State, retrier,
};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

fn refused() -> Error {
    ErrorKind::ConnectionRefused.into()
}

#[tokio::test(start_paused = true)]
async fn durable_waits_match_those_of_a_call_in_memory() {
    for policy in [
        Policy::new().attempts(6),
        Policy::new().attempts(8).backoff(Backoff::Fibonacci).max_delay(5 * SECOND),
        Policy::new().attempts(5).backoff(Backoff::Linear { increment: SECOND }),
        Policy::new().attempts(9).budget(20 * SECOND),
    ] {
        let retrier = Retrier::new(policy);
        let (begun, starts) = (tokio::time::Instant::now(), Mutex::new(Vec::new()));
        let error = retrier
            .run(|| {
                starts.lock().unwrap().push(begun.elapsed());
                async { Err::<(), _>(refused()) }
            })
            .await
            .unwrap_err();

        let (mut kept, mut now, mut durable) = (CallState::default(), Duration::ZERO, Vec::new());
        let reason = loop {
            durable.push(now);
            // The way a database stores it.
            let text = serde_json::to_string(&kept).unwrap();
            kept = serde_json::from_str(&text).unwrap();
            match retrier.decide(&mut kept, &Failed::after(now, &refused())) {
                Decision::Wait(wait) => now += wait,
                Decision::GiveUp(reason) => break reason,
            }
        };
        assert_eq!(durable, *starts.lock().unwrap(), "{policy}");
        assert_eq!((reason, kept.attempts), (error.reason(), error.attempts()), "{policy}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_stopped_continues_with_its_next_attempt() {
    let began = Instant::now();
    let starts = Mutex::new(Vec::new());
    let fails = async |cx: Arc<Attempt>| {
        starts.lock().unwrap().push((cx.number(), began.elapsed().as_secs()));
        if cx.is_last() { Ok(cx.waited()) } else { Err(refused()) }
    };
    let retrier = Retrier::new(Policy::new().attempts(4).initial_delay(10 * SECOND));
    let mut state = CallState::default();
    let call = retrier.run_cx(fails).resume(&mut state, Duration::ZERO);
    let stopped = call.cancel(sleep(15 * SECOND)).await.unwrap_err();
    assert_eq!((stopped.reason(), stopped.waited()), (Reason::Cancelled, 15 * SECOND));
    let delay = Some(20 * SECOND);
    let expected = CallState { attempts: 2, waited: 15 * SECOND, last_delay: delay, uncounted: 0 };
    assert_eq!(state, expected);

    let text = serde_json::to_string(&state).unwrap();
    let mut state = serde_json::from_str(&text).unwrap();
    let mut events = Vec::new();
    let call = retrier.run_cx(fails).resume(&mut state, 15 * SECOND);
    let waited = call.on_retry(|event| events.push((event.attempt(), event.waited()))).await;
    assert_eq!(waited.unwrap(), 45 * SECOND);
    assert_eq!(*starts.lock().unwrap(), [(1, 0), (2, 10), (3, 15), (4, 45)]);
    assert_eq!(events, [(3, 15 * SECOND)]);
    assert_eq!((state.attempts, state.waited), (3, 45 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_resumed_call_obeys_the_limits_of_the_whole() {
    let base = Policy::new().unlimited().backoff(Backoff::Fixed).initial_delay(10 * SECOND);
    let stored =
        CallState { attempts: 2, waited: 20 * SECOND, last_delay: Some(10 * SECOND), uncounted: 1 };
    let resumed = async |policy: Policy, since_first: Duration| {
        let (mut state, retrier) = (stored, Retrier::new(policy));
        let call = retrier.run(|| ready(Err::<(), _>(refused())));
        let error = call.resume(&mut state, since_first).await.unwrap_err();
        assert_eq!((state.attempts, state.waited), (error.attempts(), error.waited()));
        (error.reason(), error.attempts(), error.waited())
    };
    // One of the two attempts has used up none.
    let by_attempts = resumed(base.attempts(3), 20 * SECOND).await;
    assert_eq!(by_attempts, (Reason::Attempts, 4, 30 * SECOND));
    let by_budget = resumed(base.budget(40 * SECOND), 20 * SECOND).await;
    assert_eq!(by_budget, (Reason::Budget, 5, 40 * SECOND));
    // It was not continued for an hour.
    let by_clock = resumed(base.budget(40 * SECOND), 3_600 * SECOND).await;
    assert_eq!(by_clock, (Reason::Budget, 3, 20 * SECOND));
    let by_age = resumed(base.max_elapsed(60 * SECOND), 40 * SECOND).await;
    assert_eq!(by_age, (Reason::MaxElapsed, 5, 40 * SECOND));
    let by_deadline = resumed(base.deadline(25 * SECOND), 3_600 * SECOND).await;
    assert_eq!(by_deadline, (Reason::Deadline, 5, 40 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_resumed_call_keeps_what_was_uncounted_and_asked_for() {
    let hint = |error: &Error| (error.kind() == ErrorKind::TimedOut).then_some(7 * SECOND);
    let retrier =
        Retrier::new(Policy::new().attempts(2).deadline(60 * SECOND)).uncounted(Class::TIMEOUT);
    let retrier = retrier.retry_after(hint);
    let mut state = CallState::default();
    let busy = || ready(Err::<(), _>(Error::from(ErrorKind::TimedOut)));
    let call = retrier.run(busy).resume(&mut state, Duration::ZERO);
    call.cancel(sleep(10 * SECOND)).await.unwrap_err();
    let waited = 10 * SECOND;
    assert_eq!(
        state,
        CallState { attempts: 2, waited, last_delay: Some(7 * SECOND), uncounted: 2 }
    );
    let call = retrier.run(|| ready(Err::<(), _>(refused()))).resume(&mut state, waited);
    assert_eq!(call.await.unwrap_err().attempts(), 4);

    // No attempt is made, but the call has made some.
    let call = retrier.run(busy).resume(&mut state, waited).cancel(ready(()));
    let error = call.await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Cancelled, 4));

    // Its waits do not outlast the process, so a server may not ask for any.
    let patient =
        Retrier::new(Policy::new().attempts(9)).retry_after(|_: &Error| Some(7_200 * SECOND));
    let call = patient.run(busy).resume(&mut state, waited);
    let error = call.await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::RetryAfter, 5));
}

#[test]
fn a_resumed_call_that_blocks_continues_too() {
    let retrier = Retrier::new(Policy::new().attempts(3).initial_delay(Duration::from_millis(1)));
    let mut state = CallState::default();
    assert_eq!(retrier.decide(&mut state, &Failed::now(&refused())), Decision::Wait(MS));
    let mut calls = Vec::new();
    let call = retrier.blocking_cx(|cx| {
        calls.push(cx.number());
        Err::<(), _>(refused())
    });
    let error = call.resume(&mut state, MS).call().unwrap_err();
    assert_eq!((error.attempts(), calls), (3, vec![2, 3]));
    assert_eq!((error.waited(), state.attempts), (3 * MS, 3));
}

#[test]
fn the_budget_goes_on_by_the_clock() {
    let retrier = Retrier::new(Policy::new().attempts(10).budget(60 * SECOND));
    let mut kept = CallState::default();
    assert_eq!(retrier.decide(&mut kept, &Failed::now(&refused())), Decision::Wait(SECOND));
    // After one second of waiting, but a minute later by the clock.
    let late = refused();
    let decision = retrier.decide(&mut kept, &Failed::after(60 * SECOND, &late));
    assert_eq!(decision, Decision::GiveUp(Reason::Budget));
}

#[test]
fn any_retry_after_is_obeyed_without_a_bound() {
    const MONTH: Duration = Duration::from_hours(720);
    let decide = |policy: Policy| {
        let retrier = Retrier::new(policy).retry_after(|_: &Error| Some(MONTH));
        retrier.decide(&mut CallState::default(), &Failed::now(&refused()))
    };
    assert_eq!(decide(Policy::new()), Decision::Wait(MONTH));
    assert_eq!(decide(Policy::new().max_retry_after(MONTH)), Decision::Wait(MONTH));
    let shorter = Policy::new().max_retry_after(MONTH / 2);
    assert_eq!(decide(shorter), Decision::GiveUp(Reason::RetryAfter));
}

#[test]
fn matchers_classify_errors_and_timeouts() {
    let retrier = Retrier::new(Policy::new()).retry_on([network]);
    let decide = |failed: Failed<'_, Error>| retrier.decide(&mut CallState::default(), &failed);
    let missing = Error::from(ErrorKind::NotFound);
    assert_eq!(decide(Failed::now(&missing)), Decision::GiveUp(Reason::NotRetryable));
    let cut = &Interrupted::timeout(SECOND);
    assert_eq!(
        decide(Failed::timed_out(Duration::ZERO, cut)),
        Decision::GiveUp(Reason::NotRetryable)
    );
    let patient = Retrier::new(Policy::new()).retry_on([timeout]);
    let decision =
        patient.decide(&mut CallState::default(), &Failed::<Error>::timed_out(Duration::ZERO, cut));
    assert_eq!(decision, Decision::Wait(SECOND));
}

#[test]
fn it_reports_the_same_events() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listening = retry_runtime::on_event({
        let heard = heard.clone();
        move |event| {
            if event.name() == "durable.events" {
                heard.lock().unwrap().push(event.to_string());
            }
        }
    });
    let retrier = Retrier::new(Policy::new().attempts(2)).name("durable.events");
    let mut kept = CallState::default();
    let _ = retrier.decide(&mut kept, &Failed::now(&refused()));
    retrier.succeeded_after(kept);
    let _ = retrier.decide(&mut kept, &Failed::after(SECOND, &refused()));
    drop(listening);
    assert_eq!(
        *heard.lock().unwrap(),
        [
            "durable.events: attempt 1 of 2 failed, next in 1s: connection refused",
            "durable.events: attempt 2 succeeded after 1s of waiting",
            "durable.events: gave up after 2 attempts and 1s of waiting (all attempts were used): \
             connection refused",
        ]
    );
}

#[test]
fn it_reports_what_does_not_work_as_expected() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listening = retry_runtime::on_event({
        let heard = heard.clone();
        move |event| {
            if let retry_runtime::Event::Warning(warning) = event {
                heard.lock().unwrap().push(warning.to_string());
            }
        }
    });
    let decide = |retrier: Retrier<retrier::Opaque>| {
        let _ = retrier.decide(&mut CallState::default(), &Failed::now(&"busy"));
    };
    decide(Retrier::new(Policy::new().attempts(0)).name("durable.invalid").opaque());
    let deaf = Retrier::new(Policy::new().budget(SECOND)).name("durable.deaf");
    decide(deaf.uncounted(Class::CONFLICT).opaque());
    drop(listening);
    let heard = heard.lock().unwrap();
    for name in ["durable.invalid", "durable.deaf"] {
        assert_eq!(heard.iter().filter(|text| text.contains(name)).count(), 1, "{heard:?}");
    }
}

#[test]
fn a_postponement_uses_up_no_budget() {
    let retrier = Retrier::new(Policy::new().budget(10 * SECOND));
    let retrier = retrier.wait_by(|_, _: &Error, _| Continue(6 * SECOND));
    let mut state = CallState::default();
    for uncounted in 1..=9 {
        let error = refused();
        let decision = retrier.decide(&mut state, &Failed::now(&error).postponable(6 * SECOND));
        assert_eq!(decision, Decision::Wait(6 * SECOND));
        let expected = (uncounted, Duration::ZERO, Some(6 * SECOND));
        assert_eq!((state.uncounted, state.waited, state.last_delay), expected);
    }
    let decision = retrier.decide(&mut state, &Failed::now(&refused()));
    assert_eq!((decision, state.waited), (Decision::Wait(6 * SECOND), 6 * SECOND));
}

#[test]
fn a_wait_that_is_too_long_to_postpone_is_decided_once() {
    let asked = Arc::new(Mutex::new(0));
    let retrier = Retrier::new(Policy::new()).wait_by({
        let asked = asked.clone();
        move |_, _: &Error, _| {
            *asked.lock().unwrap() += 1;
            Continue(6 * SECOND)
        }
    });
    let mut state = CallState::default();
    let error = refused();
    let failed = || Failed::now(&error).postponable(5 * SECOND);
    assert_eq!(retrier.decide(&mut state, &failed()), Decision::Wait(6 * SECOND));
    assert_eq!((*asked.lock().unwrap(), state.uncounted, state.waited), (1, 0, 6 * SECOND));
    let strict = retrier.clone().with_policy(Policy::new().attempts(2));
    assert_eq!(strict.decide(&mut state, &failed()), Decision::GiveUp(Reason::Attempts));
}

#[test]
fn closures_of_the_retrier_set_the_wait_and_see_each_retry() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let retrier = Retrier::new(Policy::new().attempts(9))
        .wait_by(|attempt, _: &Error, due| if attempt < 3 { Continue(2 * due) } else { Break(()) })
        .on_retry({
            let seen = seen.clone();
            move |event| {
                let kind = event.failure().map(Error::kind).map_err(Clone::clone);
                seen.lock().unwrap().push((event.attempt(), event.wait(), event.waited(), kind));
            }
        });
    let mut kept = CallState::default();
    let decision = retrier.decide(&mut kept, &Failed::now(&refused()));
    assert_eq!(decision, Decision::Wait(2 * SECOND));
    let cut = Interrupted::timeout(SECOND);
    let decision = retrier.decide(&mut kept, &Failed::timed_out(2 * SECOND, &cut));
    assert_eq!(decision, Decision::Wait(2 * SECOND), "by the curve: there is no error");
    let decision = retrier.decide(&mut kept, &Failed::after(4 * SECOND, &refused()));
    assert_eq!(decision, Decision::GiveUp(Reason::NotRetryable));
    let refusal = Ok(ErrorKind::ConnectionRefused);
    let expected =
        [(1, 2 * SECOND, Duration::ZERO, refusal), (2, 2 * SECOND, 2 * SECOND, Err(cut))];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn a_description_is_the_class_and_all_texts() {
    let error = Error::other(refused());
    let Description { class, texts, .. } = Description::of(&error);
    assert!(class.contains(Class::NETWORK));
    assert_eq!(texts[0], "connection refused");
    assert_eq!(Description::of(&"HTTP 503").class, Class::SERVER_ERROR);
}

#[test]
fn counts_of_unlimited_attempts_saturate() {
    let policy = Policy::new().unlimited().backoff(Backoff::Fixed).budget(Duration::MAX);
    let mut kept = CallState {
        attempts: u32::MAX,
        waited: Duration::MAX,
        last_delay: Some(SECOND),
        uncounted: u32::MAX,
    };
    let decision = Retrier::new(policy).decide(&mut kept, &Failed::now(&refused()));
    assert_eq!(decision, Decision::Wait(SECOND));
    assert_eq!((kept.attempts, kept.waited), (u32::MAX, Duration::from_nanos(u64::MAX)));
}

#[tokio::test(start_paused = true)]
async fn a_restored_breaker_continues_the_stored_state() {
    let config =
        BreakerConfig::new().failure_threshold(3).timeout(30 * SECOND).success_threshold(1);
    let breaker = CircuitBreaker::new("restored", config);
    let causes = Arc::new(Mutex::new(Vec::new()));
    breaker.on_transition({
        let causes = causes.clone();
        move |transition| causes.lock().unwrap().push((transition.to, transition.cause))
    });

    breaker.restore(State::Open, 3, 10 * SECOND);
    assert!(breaker.try_acquire().is_err());
    tokio::time::advance(10 * SECOND).await;
    breaker.try_acquire().expect("its time is up").success();
    assert_eq!(breaker.state(), State::Closed);

    breaker.restore(State::Closed, 2, Duration::ZERO);
    breaker.try_acquire().expect("closed").failure();
    assert_eq!(breaker.remaining(), 30 * SECOND);

    // The probes of a process that has ended are unknown.
    breaker.restore(State::HalfOpen, 0, Duration::ZERO);
    assert!(!breaker.is_open());
    breaker.try_acquire().expect("a probe").failure();
    breaker.restore(State::Open, 3, Duration::MAX);
    assert_eq!(breaker.remaining(), Duration::MAX);
    let causes = causes.lock().unwrap();
    assert_eq!(causes[0], (State::Open, Cause::Restored));
}
