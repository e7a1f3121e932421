//! `Retrier`: the same retries for closures.

use std::error::Error;
use std::future::ready;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_runtime::matchers::{network, pattern, rate_limit, timeout};
use retry_runtime::retrier::{ForError, RetryOnValue};
use retry_runtime::{
    Attempt, Backoff, BreakerConfig, CircuitBreaker, Class, Classify, Event, Interrupted, Jitter,
    Policy, QuotaConfig, Reason, Retrier, RetryEvent, RetryQuota, State, Warning, on_event,
};
use tokio::time::{Instant, sleep};

use crate::support::{Calls, Failure, millis, secs};

#[tokio::test(start_paused = true)]
async fn it_calls_until_a_success() {
    let calls = Calls::new();
    let value = Retrier::new(Policy::new())
        .run(|| {
            let call = calls.make();
            async move { if call < 3 { Err(Failure::Busy(call)) } else { Ok(call) } }
        })
        .await;
    assert_eq!(value, Ok(3));
    assert_eq!(calls.gaps(), [secs(1), secs(2)]);
}

#[tokio::test(start_paused = true)]
async fn it_can_be_run_again_and_shared() {
    let retrier = Arc::new(Retrier::new(Policy::new().attempts(2)));
    let runs = (0..4).map(|_| {
        let retrier = Arc::clone(&retrier);
        tokio::spawn(async move { retrier.run(|| async { Err::<(), _>("down") }).await })
    });
    for run in runs.collect::<Vec<_>>() {
        assert_eq!(run.await.unwrap().unwrap_err().attempts(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn its_matchers_decide_like_those_of_the_attribute() {
    let any = Retrier::new(Policy::new());
    let listed = any.clone().retry_on([network, pattern("locked").unwrap()]);
    for (text, attempts) in [("connection refused", 3), ("db is locked", 3), ("corrupt", 1)] {
        let error = listed.run(|| async { Err::<(), _>(text) }).await.unwrap_err();
        assert_eq!(error.attempts(), attempts, "{text}");
        assert_eq!(error.last(), Some(&text));
    }
    let aborting = any.clone().abort_on([network]);
    let both = listed.clone().abort_on([network]);
    let refused = || async { Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionRefused)) };
    assert_eq!(aborting.run(refused).await.unwrap_err().reason(), Reason::NotRetryable);
    assert_eq!(both.run(refused).await.unwrap_err().reason(), Reason::NotRetryable);
    assert_eq!(listed.run(refused).await.unwrap_err().reason(), Reason::Attempts);
    let when = any.when(Failure::is_busy);
    assert_eq!(
        when.run(|| async { Err::<(), _>(Failure::Busy(0)) }).await.unwrap_err().attempts(),
        3
    );
    assert_eq!(
        when.run(|| async { Err::<(), _>(Failure::Corrupt) }).await.unwrap_err().attempts(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_matched_as_one() {
    let policy = Policy::new().timeout(millis(100));
    let hang = || async {
        sleep(secs(60)).await;
        Ok::<(), io::Error>(())
    };
    let wanted = Retrier::new(policy).retry_on([timeout]).run(hang).await.unwrap_err();
    assert_eq!((wanted.attempts(), wanted.interrupted().is_some()), (3, true));
    let unwanted = Retrier::new(policy).retry_on([network]).run(hang).await.unwrap_err();
    assert_eq!((unwanted.attempts(), unwanted.reason()), (1, Reason::NotRetryable));
}

#[tokio::test(start_paused = true)]
async fn it_shares_a_breaker_and_a_quota() {
    let breaker = Arc::new(CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(3)));
    let quota = Arc::new(RetryQuota::new("out", QuotaConfig::new().capacity(10)));
    let retrier = Retrier::new(Policy::new().attempts(9))
        .breaker(Arc::clone(&breaker))
        .quota(Arc::clone(&quota));
    let error = retrier.run(|| async { Err::<(), _>("down") }).await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Quota, 3));
    assert_eq!((breaker.state(), quota.available()), (State::Open, 0));
    breaker.reset();
    retrier.run(|| async { Ok::<_, Failure>(()) }).await.unwrap();
    assert_eq!(quota.available(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_obeys_retry_after_and_informs_a_listener() {
    let calls = Calls::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    let retrier = Retrier::new(Policy::new().max_delay(secs(5)))
        .retry_after(Failure::wait)
        .on_retry(move |event| {
            let told = (event.attempt(), event.error().cloned(), event.wait());
            telling.lock().unwrap().push(told);
        });
    let error = retrier
        .run(|| {
            let error = match calls.make() {
                1 => Failure::SlowDown(secs(60)),
                call => Failure::Busy(call),
            };
            async move { Err::<(), _>(error) }
        })
        .await
        .unwrap_err();
    assert_eq!(error.last(), Some(&Failure::Busy(3)));
    assert_eq!(calls.gaps(), [secs(60), secs(2)]);
    assert_eq!(
        *told.lock().unwrap(),
        [(1, Some(Failure::SlowDown(secs(60))), secs(60)), (2, Some(Failure::Busy(2)), secs(2)),]
    );
}

#[test]
fn its_future_can_be_sent() {
    fn is_send<T: Send>(_: T) {}
    let retrier = Retrier::new(Policy::new().deadline(secs(60)));
    is_send(retrier.run(|| async { Err::<(), _>(Failure::Corrupt) }));
}

/// A server that asks for 60 s, in the form that reqwest and `http::check` report it.
fn asked_for_a_minute() -> io::Error {
    let response = http::Response::builder().status(429).header("retry-after", "60").body(());
    io::Error::other(retry_runtime::http::StatusError::of(&response.unwrap()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_servers_wait_is_obeyed_with_a_list_and_without() {
    let any = Retrier::new(Policy::new().attempts(2));
    let listed = any.clone().retry_on([rate_limit]);
    let when = any.clone().when(|_: &io::Error| true);
    let for_error = any.clone().for_error();
    let call = || async { Err::<(), _>(asked_for_a_minute()) };
    for error in [
        any.run(call).await,
        listed.run(call).await,
        when.run(call).await,
        for_error.run(call).await,
        any.run(call).when(|_| true).await,
    ] {
        assert_eq!(error.unwrap_err().waited(), secs(60));
    }
    // Works inside any error that can be read.
    let hidden = any.run(|| async { Err::<(), _>(anyhow::Error::new(asked_for_a_minute())) });
    assert_eq!(hidden.await.unwrap_err().waited(), secs(60));
    let boxed = || async { Err::<(), Box<dyn Error + Send + Sync>>(asked_for_a_minute().into()) };
    assert_eq!(any.run(boxed).await.unwrap_err().waited(), secs(60));
    let opaque = any.opaque().run(call).await;
    assert_eq!(opaque.unwrap_err().waited(), secs(1), "nothing is asked of an opaque error");
}

#[tokio::test(start_paused = true)]
async fn a_quota_is_charged_for_a_timeout_as_for_one() {
    let tokens = |quota: &RetryQuota| 500 - quota.available();
    let quota = || Arc::new(RetryQuota::new("charged", QuotaConfig::new().capacity(500)));
    let policy = Policy::new().attempts(2);
    for (error, cost) in [("the request timed out", 10), ("no such table", 5)] {
        let (any, when, opaque) = (quota(), quota(), quota());
        let call = || async { Err::<(), _>(error) };
        let retrier = |quota: &Arc<RetryQuota>| Retrier::new(policy).quota(quota.clone());
        retrier(&any).run(call).await.unwrap_err();
        retrier(&when).when(|_: &&str| true).run(call).await.unwrap_err();
        retrier(&opaque).opaque().run(call).await.unwrap_err();
        assert_eq!((tokens(&any), tokens(&when), tokens(&opaque)), (cost, cost, 5), "{error}");
    }
    let hung = quota();
    let retrier = Retrier::new(policy.timeout(secs(1))).quota(hung.clone());
    retrier.run(std::future::pending::<Result<(), &str>>).await.unwrap_err();
    assert_eq!(tokens(&hung), 10);
}

struct Http(u16);

impl std::fmt::Display for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HTTP {}", self.0)
    }
}

impl Classify for Http {
    fn class(&self) -> Class {
        retry_runtime::classify::status(self.0)
    }

    fn retry_after(&self) -> Option<std::time::Duration> {
        (self.0 == 429).then(|| secs(60))
    }
}

#[tokio::test(start_paused = true)]
async fn every_retrier_uses_the_class_of_an_error() {
    let any = Retrier::new(Policy::new().attempts(2));
    let when = any.clone().classified().when(|error: &Http| error.0 == 429);
    let throttled = || async { Err::<(), _>(Http(429)) };
    assert_eq!(when.run(throttled).await.unwrap_err().waited(), secs(60));
    assert_eq!(any.clone().classified().run(throttled).await.unwrap_err().waited(), secs(60));
    let listed = any.retry_on([rate_limit]).classified().on_retry(|_: &RetryEvent<'_, Http>| {});
    assert_eq!(listed.run(throttled).await.unwrap_err().waited(), secs(60));
    let missing = listed.run(|| async { Err::<(), _>(Http(404)) }).await.unwrap_err();
    assert_eq!(missing.reason(), Reason::NotRetryable);
}

#[tokio::test(start_paused = true)]
async fn a_predicate_beside_a_list_adds_to_it_and_abort_on_wins() {
    let retrier = Retrier::new(Policy::new().attempts(2))
        .retry_on([network])
        .when(|text: &&str| text.contains("busy"))
        .abort_on([pattern("for ever").unwrap()]);
    for (text, attempts) in
        [("connection refused", 2), ("busy", 2), ("busy for ever", 1), ("corrupt", 1)]
    {
        let error = retrier.run(|| async { Err::<(), _>(text) }).await.unwrap_err();
        assert_eq!(error.attempts(), attempts, "{text}");
    }
    let corrupt = retrier.run(|| async { Err::<(), _>("corrupt") });
    assert_eq!(corrupt.when(|text| text.starts_with("corr")).await.unwrap_err().attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn closures_of_one_call_may_mutate_captures() {
    let retrier = Retrier::new(Policy::new().attempts(9));
    let (mut asked, mut told) = (0, Vec::new());
    let error = retrier
        .run(|| async { Err::<(), _>(Failure::Busy(1)) })
        .when(|error| {
            asked += 1;
            error.is_busy() && asked < 3
        })
        .on_retry(|event| told.push(event.attempt()))
        .await
        .unwrap_err();
    assert_eq!((error.reason(), asked, told), (Reason::NotRetryable, 3, vec![1, 2]));
}

#[test]
fn a_blocking_call_takes_the_same_closures() {
    let retrier = Retrier::new(Policy::new().initial_delay(millis(1)));
    let mut told = 0;
    let error = retrier
        .blocking(|| Err::<(), _>(Failure::Corrupt))
        .when(|error| *error == Failure::Corrupt)
        .on_retry(|_| told += 1)
        .call()
        .unwrap_err();
    assert_eq!((error.attempts(), told), (3, 2));
}

#[test]
fn it_can_be_a_field_and_the_future_of_its_calls_can_be_sent() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    type Predicate = fn(&u32) -> bool;
    #[derive(Clone, Debug)]
    struct Client {
        plain: Retrier,
        picky: Retrier<ForError<Failure>>,
        polling: Retrier<ForError<Failure>, RetryOnValue<Predicate>>,
    }

    let wanted = Mutex::new(9);
    let policy = Policy::new().initial_delay(millis(1)).timeout(secs(60));
    let picky = Retrier::new(policy)
        .when(move |error: &Failure| *error == Failure::Busy(*wanted.lock().unwrap()));
    let polling = picky.clone().retry_on_value((|page: &u32| *page < 9) as fn(&u32) -> bool);
    let client = Client { plain: Retrier::new(policy), picky, polling }.clone();
    drop(is_send(client.plain.run(|| async { Ok::<_, Failure>(()) }).when(|_| true)));
    assert_eq!(client.picky.run_sync(|| Err::<(), _>(Failure::Busy(8))).unwrap_err().attempts(), 1);
    assert_eq!(client.picky.run_sync(|| Err::<(), _>(Failure::Busy(9))).unwrap_err().attempts(), 3);
    assert_eq!(client.polling.run_sync(|| Ok::<_, Failure>(8)), Ok(8));
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_retried_is_the_result_at_the_end() {
    let calls = Calls::new();
    let retrier = Retrier::new(Policy::new()).retry_on([network]).retry_on_value(|n: &u32| *n < 9);
    let call = || {
        let call = calls.make();
        async move { Ok::<_, Failure>(call) }
    };
    assert_eq!(retrier.run(call).await, Ok(3), "whatever the list says of errors");
    assert_eq!(calls.gaps(), [secs(1), secs(2)]);
    let mut told = Vec::new();
    let last = retrier.run(call).on_retry(|event| told.push(event.error().cloned())).await;
    assert_eq!((last, told), (Ok(6), vec![None, None]));
    assert_eq!(retrier.run(|| async { Ok::<_, Failure>(9) }).await, Ok(9));
}

#[tokio::test(start_paused = true)]
async fn a_value_is_not_the_result_where_the_deadline_cuts_a_later_attempt_off() {
    let calls = Calls::new();
    let retrier =
        Retrier::new(Policy::new().attempts(9).deadline(secs(5))).retry_on_value(|_: &u32| true);
    let last = retrier
        .run(|| {
            let call = calls.make();
            async move {
                if call > 1 {
                    sleep(secs(60)).await;
                }
                Ok::<_, Failure>(call)
            }
        })
        .await;
    let error = last.unwrap_err();
    assert_eq!((error.reason(), error.last(), calls.made()), (Reason::Deadline, None, 2));
}

#[tokio::test(start_paused = true)]
async fn a_closure_may_take_its_context_without_state() {
    type Seen = Vec<(u32, bool, Option<Duration>)>;
    fn attempt(cx: &Attempt, seen: &mut Seen, wait: Duration) -> Result<u32, Failure> {
        seen.push((cx.number(), cx.is_last(), cx.last_delay()));
        match cx.number() {
            1 => cx.retry_after(wait),
            3 => cx.give_up(),
            _ => {}
        }
        Err(Failure::Busy(cx.number()))
    }
    let expected = |wait| {
        let curve = Some(millis(2));
        [(1, false, None), (2, false, Some(wait)), (3, false, curve)]
    };
    let retrier = Retrier::new(Policy::new().attempts(5).initial_delay(millis(1)));
    let mut seen = Seen::new();
    let ended = retrier.run_cx(|cx| ready(attempt(&cx, &mut seen, secs(7)))).await.unwrap_err();
    assert_eq!((ended.reason(), ended.attempts()), (Reason::NotRetryable, 3));
    assert_eq!(seen, expected(secs(7)));

    let mut seen = Seen::new();
    let call = retrier.blocking_cx(|cx| attempt(&cx, &mut seen, millis(3)));
    let ended = call.on_retry(|event| assert!(event.error().is_some())).call().unwrap_err();
    assert_eq!((ended.reason(), ended.attempts()), (Reason::NotRetryable, 3));
    assert_eq!(seen, expected(millis(3)));

    let hedged = Retrier::new(Policy::new().hedge(secs(1)));
    let numbers = Mutex::new(Vec::new());
    let call = hedged.run_cx(async |cx| {
        numbers.lock().unwrap().push(cx.number());
        if numbers.lock().unwrap().len() == 1 {
            std::future::pending().await
        } else {
            Ok::<_, Failure>(7)
        }
    });
    assert_eq!(call.await, Ok(7));
    assert_eq!(*numbers.lock().unwrap(), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_state_goes_from_attempt_to_attempt_and_back() {
    let retrier = Retrier::new(Policy::new());
    let (seen, result) = retrier
        .run_with(vec![], |mut seen, cx| async move {
            seen.push((cx.number(), cx.waited(), cx.is_last()));
            (seen, Err::<(), _>("down"))
        })
        .await;
    assert_eq!(
        seen.unwrap(),
        [(1, secs(0), false), (2, secs(1), false), (3, secs(3), true)],
        "the state comes back after a failure too"
    );
    assert_eq!(result.unwrap_err().reason(), Reason::Attempts);

    // Borrowed state, which no closure could lend to its future.
    let mut log = String::new();
    let (_, result) = retrier
        .run_with(&mut log, |log, cx| async move {
            log.push('x');
            (log, if cx.number() == 2 { Ok(()) } else { Err("down") })
        })
        .on_retry(|event| assert_eq!(event.attempt(), 1))
        .await;
    assert_eq!((result, &*log), (Ok(()), "xx"));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_with_a_state_decides_about_its_failure() {
    let retrier = Retrier::new(Policy::new().attempts(9)).retry_on([network]);
    let begun = Instant::now();
    let (_, result) = retrier
        .run_with((), |(), cx| async move {
            if cx.number() == 1 {
                cx.retry_after(secs(60));
            } else {
                cx.give_up();
            }
            ((), Err::<(), _>("no such table"))
        })
        .await;
    let error = result.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::NotRetryable, 2));
    assert_eq!(begun.elapsed(), secs(60));
}

#[tokio::test(start_paused = true)]
async fn a_state_is_lost_with_the_attempt_that_is_cut_off() {
    let retrier = Retrier::new(Policy::new().timeout(secs(1)));
    let begun = Instant::now();
    let (state, result) = retrier
        .run_with(7, |state, _| async move {
            sleep(secs(60)).await;
            (state, Ok::<_, Failure>(()))
        })
        .await;
    let error = result.unwrap_err();
    assert!(matches!(error.interrupted(), Some(Interrupted::Timeout { .. })));
    assert_eq!((state, error.reason(), begun.elapsed()), (None, Reason::NotRepeatable, secs(1)));
}

#[tokio::test(start_paused = true)]
async fn tokens_come_back_from_a_call_that_is_dropped_while_it_waits() {
    let quota = Arc::new(RetryQuota::new("dropped", QuotaConfig::new().capacity(100)));
    let retrier = Retrier::new(Policy::new()).quota(quota.clone());
    let call = retrier.run(|| async { Err::<(), _>("down") });
    tokio::time::timeout(millis(500), call).await.unwrap_err();
    assert_eq!(quota.available(), 100);
}

#[tokio::test(start_paused = true)]
async fn tokens_survive_a_listener_that_panics() {
    let quota = Arc::new(RetryQuota::new("panics", QuotaConfig::new().capacity(100)));
    let retrier = Retrier::new(Policy::new())
        .quota(quota.clone())
        .on_retry(|_: &RetryEvent<'_, Failure>| panic!("of the listener"));
    let blocking = retrier.clone();
    let task =
        tokio::spawn(async move { retrier.run(|| async { Err::<(), _>(Failure::Corrupt) }).await });
    assert!(task.await.unwrap_err().is_panic());
    let thread = std::thread::spawn(move || blocking.run_sync(|| Err::<(), _>(Failure::Corrupt)));
    assert!(thread.join().is_err());
    assert_eq!(quota.available(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_for_the_breaker_of_a_retrier() {
    let config = BreakerConfig::new().failure_threshold(1);
    let breaker = Arc::new(CircuitBreaker::new("panics", config));
    let retrier = Retrier::new(Policy::new()).breaker(breaker.clone());
    let task = tokio::spawn(async move {
        let panic = || async {
            tokio::task::yield_now().await;
            panic!("of the operation");
        };
        retrier.run::<(), Failure, _, _, _, _>(panic).await
    });
    assert!(task.await.unwrap_err().is_panic());
    assert_eq!(breaker.state(), State::Open);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_policy_is_corrected_and_reported_once() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let listening = on_event({
        let told = told.clone();
        move |event| {
            if let Event::Warning(Warning::InvalidPolicy { name, .. }) = event
                && *name == "retrier.invalid"
            {
                told.lock().unwrap().push(event.to_string());
            }
        }
    });
    let new = |policy: Policy| Retrier::new(policy).name("retrier.invalid");
    let fail = || async { Err::<(), _>("down") };
    let zero = new(Policy::new().attempts(0));
    assert_eq!(zero.run(|| async { Ok::<_, Failure>(()) }).await, Ok(()));
    assert!(told.lock().unwrap().is_empty(), "nothing has failed");
    for _ in 0..2 {
        assert_eq!(zero.run(fail).await.unwrap_err().attempts(), 1);
    }
    let curve = Policy::new().backoff(Backoff::Exponential { base: 0.5 });
    assert_eq!(new(curve).run(fail).await.unwrap_err().waited(), secs(2));
    let wide = Policy::new().jitter(Jitter::Proportional(f64::NAN));
    assert_eq!(new(wide).run(fail).await.unwrap_err().waited(), secs(3));
    assert_eq!(new(Policy::new().unlimited()).run(fail).await.unwrap_err().attempts(), 3);
    let vain = Policy::new().attempts(2).backoff(Backoff::Custom(const { &[secs(1), secs(2)] }));
    assert_eq!(new(vain).run(fail).await.unwrap_err().attempts(), 2);
    listening.stop();
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 4, "{told:#?}");
    assert_eq!(
        told[0],
        "retrier.invalid: the policy breaks a rule; the nearest valid policy is used instead: \
         `attempts` counts all calls, including the first, so it must be at least 1: write \
         `attempts = 1` for a single call, or leave it out for the default, 3"
    );
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_panics_before_its_future_is_a_failure_for_the_breaker() {
    let config = BreakerConfig::new().failure_threshold(1);
    for policy in [Policy::new(), Policy::new().timeout(secs(5))] {
        let breaker = Arc::new(CircuitBreaker::new("panics", config));
        let retrier = Retrier::new(policy).breaker(Arc::clone(&breaker));
        let task = tokio::spawn(async move {
            retrier.run(|| -> std::future::Ready<Result<(), Failure>> { panic!("at once") }).await
        });
        assert!(task.await.unwrap_err().is_panic());
        assert_eq!(breaker.state(), State::Open);
    }
}
