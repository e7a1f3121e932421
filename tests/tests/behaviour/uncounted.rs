//! `uncounted`: failures that are retried as before, but use up no attempt.

use std::sync::Arc;
use std::time::Duration;

use retry_runtime::durable::{CallState, Decision, Failed};
use retry_runtime::matchers::rate_limit;
use retry_runtime::retrier::ForError;
use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    Backoff, Bound, Class, Interrupted, Policy, Reason, Retrier, RetryConfig, RetryError, policy,
    retry, retrying,
};
use tokio::time::{Instant, sleep};
use tower::{Layer as _, Service as _, service_fn};

use crate::support::{Calls, Classified, Failure, Recorded, listen, millis, secs, take_events};

const HOUR: Duration = secs(3_600);
const THREE: Policy = policy!(attempts = 3, deadline = "1h");

const LIMITED: Classified = Classified(Class::RATE_LIMIT, None);

/// The server limits the first five calls, and then answers.
fn limited_five_times(calls: &Calls) -> Result<u32, Classified> {
    let call = calls.make();
    if call > 5 { Ok(call) } else { Err(LIMITED) }
}

#[tokio::test(start_paused = true)]
async fn five_limits_use_up_none_of_three_attempts_in_every_front_end() {
    #[retry(attempts = 3, uncounted = [rate_limit], deadline = "1h")]
    async fn function(calls: &Calls) -> Result<u32, RetryError<Classified>> {
        limited_five_times(calls)
    }
    #[retry(policy = THREE, uncounted = [transient])]
    async fn over_a_policy(calls: &Calls) -> Result<u32, RetryError<Classified>> {
        limited_five_times(calls)
    }
    #[retry(policy = config)]
    async fn of_a_file(calls: &Calls, config: &RetryConfig) -> Result<u32, RetryError<Classified>> {
        limited_five_times(calls)
    }
    #[retry(attempts = runtime(attempts), uncounted = [connect, rate_limit], deadline = "1h")]
    async fn configured(calls: &Calls, attempts: u32) -> Result<u32, RetryError<Classified>> {
        limited_five_times(calls)
    }
    async fn block(calls: &Calls) -> Result<u32, RetryError<Classified>> {
        retrying!(
            name = "uncounted.block",
            attempts = 3,
            uncounted = [rate_limit],
            deadline = "1h",
            async || -> Result<u32, RetryError<Classified>> { limited_five_times(calls) }
        )
        .await
    }
    async fn retrier(retrier: Retrier, calls: &Calls) -> Result<u32, RetryError<Classified>> {
        retrier.classified().run(|| async { limited_five_times(calls) }).await
    }
    let retrier_of = || Retrier::new(THREE).uncounted(Class::RATE_LIMIT);
    assert!(retrier_of().validate().is_ok());
    let file = r#"{ "attempts": 3, "deadline": "1h", "uncounted": ["rate_limit"] }"#;
    let file: RetryConfig = serde_json::from_str(file).unwrap();

    let calls: [_; 7] = std::array::from_fn(|_| Calls::new());
    assert_eq!(function(&calls[0]).await.unwrap(), 6);
    assert_eq!(over_a_policy(&calls[1]).await.unwrap(), 6);
    assert_eq!(of_a_file(&calls[2], &file).await.unwrap(), 6);
    assert_eq!(configured(&calls[3], 1).await.unwrap(), 6);
    assert_eq!(block(&calls[4]).await.unwrap(), 6);
    assert_eq!(retrier(retrier_of(), &calls[5]).await.unwrap(), 6);
    assert_eq!(retrier(Retrier::from_config(&file), &calls[6]).await.unwrap(), 6);
    for calls in calls {
        // The waits are those of the curve, for all failures so far.
        assert_eq!(calls.gaps(), [1, 2, 4, 8, 16].map(secs));
    }

    let calls = Arc::new(Calls::new());
    let made = Arc::clone(&calls);
    let service = service_fn(move |()| std::future::ready(limited_five_times(&made)));
    let mut service = RetryLayer::new(retrier_of().classified()).layer(service);
    assert_eq!(service.call(()).await.unwrap(), 6);
    assert_eq!(calls.gaps(), [1, 2, 4, 8, 16].map(secs));
}

#[test]
fn a_blocking_call_has_it_too() {
    #[retry(attempts = 3, initial_delay = "1ms", uncounted = [rate_limit], max_elapsed = "1h")]
    fn function(calls: &Calls) -> Result<u32, Classified> {
        limited_five_times(calls)
    }
    assert_eq!(function(&Calls::new()).unwrap(), 6);
    let policy = Policy::new().initial_delay(millis(1)).budget(HOUR);
    let retrier = Retrier::new(policy).uncounted(Class::RATE_LIMIT).classified();
    let calls = Calls::new();
    assert_eq!(retrier.run_sync(|| limited_five_times(&calls)).unwrap(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_always_limits_ends_the_call_at_its_bound() {
    #[retry(attempts = 3, uncounted = [rate_limit], deadline = "1h")]
    async fn function() -> Result<u32, RetryError<Classified>> {
        Err(LIMITED)
    }
    let retrier = |policy| Retrier::new(policy).uncounted(Class::RATE_LIMIT).classified();
    let start = Instant::now();
    let by_function = function().await.unwrap_err();
    assert!(start.elapsed() < HOUR, "it ends before a wait beyond the deadline");
    let by_retrier = retrier(THREE).run(|| async { Err::<(), _>(LIMITED) }).await.unwrap_err();
    for error in [by_function, by_retrier] {
        assert_eq!((error.reason(), error.attempts()), (Reason::Deadline, 124));
        assert!(error.waited() > secs(3_570) && error.waited() < HOUR);
        assert_eq!(error.last().unwrap().0, Class::RATE_LIMIT);
    }
    for (policy, reason) in [
        (Policy::new().budget(HOUR), Reason::Budget),
        (Policy::new().max_elapsed(HOUR), Reason::MaxElapsed),
    ] {
        let error = retrier(policy).run(|| async { Err::<(), _>(LIMITED) }).await.unwrap_err();
        assert_eq!(error.reason(), reason);
    }
}

/// Fails with these classes in turn, and then succeeds.
fn fail(calls: &Calls, classes: &[Class]) -> Result<u32, Classified> {
    let call = calls.make();
    classes.get(call as usize - 1).map_or(Ok(call), |class| Err(Classified(*class, None)))
}

#[tokio::test(start_paused = true)]
async fn other_failures_use_up_attempts_and_are_numbered_with_all() {
    #[retry(attempts = 3, uncounted = [rate_limit], deadline = "1h", context = cx, name = "uncounted.m")]
    async fn fetch(
        calls: &Calls,
        classes: &[Class],
        last: &mut Vec<(u32, bool)>,
    ) -> Result<u32, RetryError<Classified>> {
        last.push((cx.number(), cx.is_last()));
        fail(calls, classes)
    }
    let (limit, fault) = (Class::RATE_LIMIT, Class::NETWORK);
    listen();
    let mut last = Vec::new();
    let classes = [limit, fault, limit, limit | fault, fault, limit, fault];
    let error = fetch(&Calls::new(), &classes, &mut last).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 7));
    let is_last = |number| (number, number >= 6);
    assert_eq!(last, (1..=7).map(is_last).collect::<Vec<_>>());
    let seen: Vec<(u32, u32)> = take_events()
        .iter()
        .filter(|event| {
            event.field("name") == Some("uncounted.m")
                && event.message.starts_with("attempt failed")
        })
        .map(|event| {
            let number = |field| event.field(field).unwrap().parse().unwrap();
            (number("attempt"), number("attempts"))
        })
        .collect();
    assert_eq!(seen, [(1, 4), (2, 4), (3, 5), (4, 6), (5, 6), (6, 7)]);
    // A failure that is not retried ends the call as always.
    let retrier = Retrier::new(THREE).uncounted(limit).abort_on([rate_limit]);
    let error = retrier.run(|| async { Err::<(), _>("429 Too Many Requests") });
    assert_eq!(error.await.unwrap_err().reason(), Reason::NotRetryable);
}

#[tokio::test(start_paused = true)]
async fn a_single_attempt_is_enough() {
    #[retry(attempts = 1, uncounted = [rate_limit], deadline = "1h", jitter)]
    async fn fetch(calls: &Calls, classes: &[Class]) -> Result<u32, RetryError<Classified>> {
        fail(calls, classes)
    }
    let limits = [Class::RATE_LIMIT; 9];
    assert_eq!(fetch(&Calls::new(), &limits).await.unwrap(), 10);
    let error = fetch(&Calls::new(), &[Class::RATE_LIMIT, Class::NETWORK]).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 2));
}

#[tokio::test(start_paused = true)]
async fn a_reset_begins_to_count_again() {
    #[retry(attempts = 2, uncounted = [rate_limit], deadline = "1h", context = cx)]
    async fn fetch(calls: &Calls, classes: &[Class]) -> Result<u32, RetryError<Classified>> {
        let answer = fail(calls, classes);
        if calls.made() == 4 {
            cx.reset();
        }
        assert_eq!(cx.is_last(), (calls.made() >= 3), "{}", cx.number());
        answer
    }
    let (limit, fault) = (Class::RATE_LIMIT, Class::NETWORK);
    let classes = [limit, fault, limit, fault, limit, limit, fault];
    let error = fetch(&Calls::new(), &classes).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 7));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_cut_off_is_of_class_timeout() {
    #[retry(attempts = 2, uncounted = [rate_limit], timeout = "1s", deadline = "1h")]
    async fn limits_only(calls: &Calls) -> Result<(), Failure> {
        calls.make();
        std::future::pending().await
    }
    #[retry(attempts = 2, uncounted = [timeout], timeout = "1s", deadline = "1m")]
    async fn timeouts(calls: &Calls) -> Result<(), Failure> {
        calls.make();
        std::future::pending().await
    }
    let calls = Calls::new();
    limits_only(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 2);
    let calls = Calls::new();
    let error = timeouts(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 6, "{error}");
    let policy = Policy::new().attempts(2).timeout(secs(1)).deadline(secs(60));
    for (class, attempts) in [(Class::RATE_LIMIT, 2), (Class::TIMEOUT, 6)] {
        let retrier = Retrier::new(policy).uncounted(class);
        let error = retrier.run(std::future::pending::<Result<(), Failure>>).await.unwrap_err();
        assert_eq!(error.attempts(), attempts);
    }
}

/// The first member of each attempt fails after 20 ms, and the hedge that joins it 5 ms later.
async fn member(calls: &Calls, classes: [Class; 2]) -> Result<u32, Classified> {
    let call = calls.make();
    if call == 9 {
        return Ok(call);
    }
    let is_hedge = call.is_multiple_of(2);
    sleep(millis(if is_hedge { 15 } else { 20 })).await;
    Err(Classified(classes[usize::from(is_hedge)], None))
}

#[tokio::test(start_paused = true)]
async fn a_group_uses_up_no_attempt_if_no_member_does() {
    #[retry(attempts = 2, hedge = "10ms", uncounted = [rate_limit], deadline = "1h")]
    async fn fetch(calls: &Calls, classes: [Class; 2]) -> Result<u32, RetryError<Classified>> {
        member(calls, classes).await
    }
    let policy = Policy::new().attempts(2).hedge(millis(10)).deadline(HOUR);
    let retrier = Retrier::new(policy).uncounted(Class::RATE_LIMIT).classified();
    let (limit, fault) = (Class::RATE_LIMIT, Class::NETWORK);
    for (classes, attempts) in [
        ([limit, limit], None),
        ([limit, fault], Some(2)),
        ([fault, limit], Some(2)),
        ([fault, fault], Some(2)),
    ] {
        let by_function = fetch(&Calls::new(), classes).await;
        let calls = Calls::new();
        let by_retrier = retrier.run(|| member(&calls, classes)).await;
        for ended in [by_function, by_retrier] {
            assert_eq!(ended.err().map(|error| error.attempts()), attempts, "{classes:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_that_a_timeout_ends_is_of_class_timeout_too() {
    #[retry(attempts = 2, hedge = "10ms", timeout = "1s", uncounted = [rate_limit], deadline = "1h")]
    async fn limits(calls: &Calls) -> Result<u32, RetryError<Classified>> {
        hangs_beside_a_limit(calls).await
    }
    #[retry(attempts = 2, hedge = "10ms", timeout = "1s", uncounted = [rate_limit, timeout], deadline = "1h")]
    async fn both(calls: &Calls) -> Result<u32, RetryError<Classified>> {
        hangs_beside_a_limit(calls).await
    }
    async fn hangs_beside_a_limit(calls: &Calls) -> Result<u32, Classified> {
        match calls.make() {
            call @ 9.. => Ok(call),
            call if call % 2 == 1 => std::future::pending().await,
            _ => Err(LIMITED),
        }
    }
    assert_eq!(limits(&Calls::new()).await.unwrap_err().attempts(), 2);
    assert_eq!(both(&Calls::new()).await.unwrap(), 9);
}

#[tokio::test(start_paused = true)]
async fn failures_count_if_nothing_else_ends_the_call() {
    #[retry(policy = policy, uncounted = [rate_limit])]
    async fn function(policy: Policy) -> Result<u32, RetryError<Classified>> {
        Err(LIMITED)
    }
    let at_once = Policy::new().backoff(Backoff::Fixed).initial_delay(secs(0));
    for policy in [Policy::new(), at_once.budget(HOUR)] {
        let error = function(policy).await.unwrap_err();
        assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 3), "{policy}");
        let retrier = Retrier::new(policy).uncounted(Class::RATE_LIMIT).classified();
        let invalid = retrier.validate().unwrap_err().to_string();
        assert!(invalid.starts_with("`uncounted` failures use up no attempt"), "{invalid}");
        let error = retrier.run(|| async { Err::<(), _>(LIMITED) }).await.unwrap_err();
        assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 3), "{policy}");
    }
    let meant = Retrier::new(Policy::new().with_budget(Bound::Unlimited));
    let meant = meant.uncounted(Class::RATE_LIMIT).classified();
    let calls = Calls::new();
    assert_eq!(meant.run(|| async { fail(&calls, &[Class::RATE_LIMIT; 99]) }).await.unwrap(), 100);
}

/// Returns the events `message` about `name` on this thread.
fn warnings_about(name: &str, message: &str) -> usize {
    let is_warning =
        |event: &&Recorded| event.field("name") == Some(name) && event.message.starts_with(message);
    take_events().iter().filter(is_warning).count()
}

#[tokio::test(start_paused = true)]
async fn a_configuration_without_the_bound_is_reported_once() {
    #[retry(policy = config, name = "uncounted.unbounded")]
    async fn function(config: &RetryConfig, class: Class) -> Result<(), Classified> {
        Err(Classified(class, None))
    }
    let mut config = RetryConfig::from(Policy::new());
    config.uncounted = Some(Class::RATE_LIMIT);
    let warnings = || warnings_about("uncounted.unbounded", "the policy breaks a rule");
    listen();
    function(&config, Class::NETWORK).await.unwrap_err();
    assert_eq!(warnings(), 0, "its failure counts anyway");
    function(&config, Class::RATE_LIMIT).await.unwrap_err();
    function(&config, Class::RATE_LIMIT).await.unwrap_err();
    assert_eq!(warnings(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_retrier_that_reads_no_class_is_reported_once() {
    let fail = async |retrier: Retrier<ForError<&'static str>>| {
        let error = retrier.run(|| async { Err::<(), _>("429 Too Many Requests") }).await;
        assert_eq!(error.unwrap_err().attempts(), 3);
        let name = format!("{retrier:?}").split('"').nth(1).unwrap().to_owned();
        warnings_about(&name, "its `uncounted` does nothing")
    };
    listen();
    let before = Retrier::new(THREE).uncounted(Class::RATE_LIMIT).opaque();
    let before = before.for_error().name("uncounted.before");
    assert_eq!(fail(before.clone()).await, 1);
    assert_eq!(fail(before.clone()).await, 0);
    let after = Retrier::new(THREE).opaque().when(|_: &&str| true).uncounted(Class::RATE_LIMIT);
    assert_eq!(fail(after.name("uncounted.after")).await, 1);
    let of_timeouts = Retrier::new(THREE).uncounted(Class::TIMEOUT).opaque();
    assert_eq!(fail(of_timeouts.for_error().name("uncounted.timeouts")).await, 0);
    let stated = before.classify(|_| Some(Class::NETWORK)).name("uncounted.stated");
    assert_eq!(fail(stated).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_may_end_the_call() {
    #[retry(attempts = 2, uncounted = [rate_limit], cancel = sleep(secs(100)))]
    async fn function() -> Result<u32, RetryError<Classified>> {
        Err(LIMITED)
    }
    #[retry(policy = policy, uncounted = [rate_limit], cancel = sleep(secs(100)))]
    async fn over_a_policy(policy: Policy) -> Result<u32, RetryError<Classified>> {
        Err(LIMITED)
    }
    assert_eq!(function().await.unwrap_err().reason(), Reason::Cancelled);
    assert_eq!(over_a_policy(Policy::new()).await.unwrap_err().reason(), Reason::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_zero_that_only_a_budget_bounds_falls_to_the_curve() {
    #[retry(attempts = 2, uncounted = [rate_limit], budget = "1m", context = cx)]
    async fn at_once() -> Result<u32, RetryError<Classified>> {
        cx.retry_after(Duration::ZERO);
        Err(LIMITED)
    }
    let error = at_once().await.unwrap_err();
    assert_eq!((error.reason(), error.waited()), (Reason::Budget, secs(31)));
}

#[test]
fn a_file_is_written_as_it_was_read() {
    for kinds in [vec!["rate_limit"], vec!["transient"], vec!["connect", "timeout"]] {
        let kinds = serde_json::to_value(kinds).unwrap();
        let file = serde_json::json!({ "attempts": 1, "retry_budget": "1h", "uncounted": kinds });
        let config: RetryConfig = serde_json::from_value(file).unwrap();
        let written: RetryConfig =
            serde_json::from_value(serde_json::to_value(&config).unwrap()).unwrap();
        assert_eq!(written.uncounted, config.uncounted);
        assert_eq!(written.bare_policy, config.bare_policy);
    }
}

#[test]
fn a_stored_call_keeps_the_number() {
    let policy = Policy::new().attempts(2).budget(HOUR);
    let retrier = Retrier::new(policy).uncounted(Class::RATE_LIMIT).classified();
    let mut state = CallState::default();
    for number in 1..=5 {
        let decision = retrier.decide(&mut state, &Failed::now(&LIMITED));
        assert!(matches!(decision, Decision::Wait(_)));
        assert_eq!((state.attempts, state.uncounted), (number, number));
        let stored = serde_json::to_string(&state).unwrap();
        state = serde_json::from_str(&stored).unwrap();
    }
    let fault = Classified(Class::NETWORK, None);
    assert!(matches!(retrier.decide(&mut state, &Failed::now(&fault)), Decision::Wait(_)));
    let decision = retrier.decide(&mut state, &Failed::now(&fault));
    assert_eq!((decision, state.attempts), (Decision::GiveUp(Reason::Attempts), 7));

    let timed_out = Interrupted::timeout(secs(1));
    let cut_off = Failed::<Classified>::timed_out(Duration::ZERO, &timed_out);
    let mut state = CallState::default();
    assert!(matches!(retrier.decide(&mut state, &cut_off), Decision::Wait(_)));
    assert_eq!(state.uncounted, 0);
    let old = r#"{ "attempts": 2, "waited": { "secs": 3, "nanos": 0 }, "last_delay": null }"#;
    let old: CallState = serde_json::from_str(old).unwrap();
    assert_eq!((old.attempts, old.uncounted), (2, 0));
}
