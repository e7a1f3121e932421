//! The level of the event `gave up`, by the end of the call and by `log = …`, and of the event of a
//! retry, by `log_retries = …`.

use std::cell::RefCell;
use std::future::{Future, pending, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, Event, LogLevel, Policy, Reason, Retrier, RetryError,
    matchers, on_event, policy, retry, retrying, sites,
};
use tokio::sync::Notify;
use tokio::time::sleep;
use tower::{Layer as _, Service as _, service_fn};
use tracing::Level;

use crate::support::{Calls, Classified, Failure, listen, millis, secs, take_events};

const POLICY: Policy = policy!(attempts = 2, initial_delay = "1ms");

/// The levels of the events `gave up` since the last look.
fn levels() -> Vec<Level> {
    let heard = take_events().into_iter().filter(|event| event.message == "gave up");
    heard.map(|event| event.level).collect()
}

fn failed() -> Result<u32, Failure> {
    Err(Failure::Corrupt)
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_ignored_by_the_policy_is_not_a_warning() {
    #[retry(policy = POLICY)]
    async fn stops() -> Result<u32, Failure> {
        failed()
    }
    #[retry(policy = POLICY, map_error = |error: RetryError<Failure>| error.attempts())]
    async fn maps() -> Result<u32, u32> {
        let number = failed()?;
        Ok(number)
    }
    #[retry(policy = POLICY, on_failure = continue)]
    async fn continues() -> Result<u32, Failure> {
        failed()
    }
    #[retry(policy = POLICY, on_failure = fallback(|_| 7))]
    fn falls_back() -> Result<u32, RetryError<Failure>> {
        failed()
    }
    listen();
    stops().await.unwrap_err();
    maps().await.unwrap_err();
    assert_eq!(levels(), [Level::WARN; 2]);
    continues().await.unwrap();
    falls_back().unwrap();
    let block = retrying!(
        name = "log.block",
        policy = POLICY,
        on_failure = fallback(|_| 7),
        async || -> Result<u32, Failure> { failed() }
    );
    block.await.unwrap();
    assert_eq!(levels(), [Level::INFO; 3]);
}

#[tokio::test(start_paused = true)]
async fn it_is_logged_before_the_fallback_runs() {
    #[retry(policy = POLICY, on_failure = fallback(|_| async { during.replace(levels()).len() }))]
    async fn fetch(during: &RefCell<Vec<Level>>) -> Result<usize, Failure> {
        failed().map(|_| 1)
    }
    listen();
    let during = RefCell::default();
    fetch(&during).await.unwrap();
    assert_eq!((during.into_inner(), levels()), (vec![Level::INFO], vec![]));
}

#[tokio::test(start_paused = true)]
async fn failures_that_are_not_retryable_are_logged_as_details_before_a_fallback() {
    #[retry(policy = POLICY, retry_on = [network], on_failure = continue)]
    async fn continues() -> Result<u32, Failure> {
        failed()
    }
    #[retry(policy = POLICY, nested = once)]
    async fn outer(calls: &Calls) -> Result<u32, Failure> {
        match calls.make() {
            1 => failed(),
            _ => inner().await,
        }
    }
    #[retry(policy = POLICY, on_failure = fallback(|_| failed()))]
    async fn inner() -> Result<u32, Failure> {
        failed()
    }
    listen();
    continues().await.unwrap();
    outer(&Calls::new()).await.unwrap_err();
    assert_eq!(levels(), [Level::DEBUG, Level::DEBUG, Level::WARN]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_with_a_value_is_not_a_warning() {
    #[retry(policy = POLICY, retry_on = [ok(|_| true)])]
    async fn function() -> Result<u32, RetryError<Failure>> {
        Ok(7)
    }
    #[retry(policy = POLICY, retry_on = [ok(|value: &u32| *value == 7)])]
    fn plain() -> u32 {
        7
    }
    listen();
    function().await.unwrap();
    plain();
    let block = retrying!(
        name = "log.value",
        policy = POLICY,
        retry_on = [ok(|_| true)],
        async || -> Result<u32, Failure> { Ok(7) }
    );
    block.await.unwrap();
    assert_eq!(levels(), [Level::INFO; 3]);

    let retrier = Retrier::new(POLICY).retry_on_value(|_: &u32| true);
    let succeeds = || ready(Ok::<_, Failure>(7));
    retrier.run(succeeds).await.unwrap();
    retrier.run_sync(|| Ok::<_, Failure>(7)).unwrap();
    retrier.run_with((), |(), _| ready(((), Ok::<_, Failure>(7)))).await.1.unwrap();
    RetryLayer::new(retrier).layer(service_fn(move |()| succeeds())).call(()).await.unwrap();
    let layer = RetryLayer::new(Retrier::new(POLICY))
        .classify_response(|_: &u32| Some(Classified(Class::SERVER_ERROR, None)));
    layer.layer(service_fn(move |()| succeeds())).call(()).await.unwrap();
    let hedged = Retrier::new(POLICY.hedge(millis(10))).retry_on_value(|_: &u32| true);
    let slow = || async {
        sleep(millis(15)).await;
        Ok::<_, Failure>(7)
    };
    hedged.run(slow).await.unwrap();
    assert_eq!(levels(), [Level::INFO; 6]);
}

#[tokio::test(start_paused = true)]
async fn the_last_failure_decides_and_not_one_before_it() {
    #[retry(policy = POLICY, retry_on = [ok(|value| *value == 7), when(|_| true)])]
    async fn fetch(calls: &Calls, fails_at: u32) -> Result<u32, Failure> {
        if calls.make() == fails_at { failed() } else { Ok(7) }
    }
    listen();
    fetch(&Calls::new(), 2).await.unwrap_err();
    assert_eq!(levels(), [Level::WARN]);
    fetch(&Calls::new(), 1).await.unwrap();
    assert_eq!(levels(), [Level::INFO]);
}

/// A value that is retried, and then the end without another attempt that counts.
#[tokio::test(start_paused = true)]
async fn a_value_is_the_outcome_although_the_last_attempt_was_not_made() {
    const PATIENT: Policy = policy!(attempts = 9);

    #[retry(policy = PATIENT, retry_on = [ok(|_| true)], breaker = breaker)]
    async fn rejected(breaker: &CircuitBreaker) -> Result<u32, RetryError<Failure>> {
        breaker.force_open();
        Ok(7)
    }
    #[retry(policy = PATIENT, retry_on = [ok(|_| true)], cancel = stop.notified())]
    async fn cancelled(stop: &Notify) -> Result<u32, RetryError<Failure>> {
        stop.notify_one();
        Ok(7)
    }
    let breaker = || Arc::new(CircuitBreaker::new("log.shut", BreakerConfig::new()));
    listen();
    rejected(&breaker()).await.unwrap();
    cancelled(&Notify::new()).await.unwrap();
    assert_eq!(levels(), [Level::INFO; 2]);

    let shut = breaker();
    let retrier = Retrier::new(PATIENT).retry_on_value(|_: &u32| true).breaker(Arc::clone(&shut));
    let value = retrier.run(|| {
        shut.force_open();
        ready(Ok::<_, Failure>(7))
    });
    value.await.unwrap();
    assert_eq!(levels(), [Level::INFO]);
    // The hedge of the attempt that is cut off fails, and that is the error of the call.
    let (calls, hedged) = (Calls::new(), PATIENT.deadline(secs(3)).hedge(millis(10)));
    let retrier = Retrier::new(hedged).retry_on_value(|_: &u32| true);
    let error = retrier.run(|| async {
        match calls.make() {
            1 => Ok(7),
            2 => pending().await,
            _ => failed(),
        }
    });
    assert_eq!(error.await.unwrap_err().reason(), Reason::Deadline);
    assert_eq!(levels(), [Level::WARN]);
}

type Called = Pin<Box<dyn Future<Output = ()>>>;

/// Calls that fail in every way, each with this level.
macro_rules! ways {
    ($level:ident, $variant:ident) => {{
        #[retry(policy = POLICY, log = $level)]
        async fn function() -> Result<u32, Failure> {
            failed()
        }
        #[retry(policy = POLICY, log = $level, on_failure = continue)]
        fn blocking() -> Result<u32, RetryError<Failure>> {
            failed()
        }
        #[retry(policy = POLICY, log = $level, retry_on = [network])]
        async fn not_retryable() -> Result<u32, Failure> {
            failed()
        }
        let retrier = || Retrier::new(POLICY).log(LogLevel::$variant);
        let ways: [(&str, Called); 8] = [
            ("function", Box::pin(async { drop(function().await) })),
            ("blocking function", Box::pin(async { drop(blocking()) })),
            ("not retryable", Box::pin(async { drop(not_retryable().await) })),
            (
                "block",
                Box::pin(async {
                    let block =
                        retrying!(name = "log.level", policy = POLICY, log = $level, async {
                            failed()
                        });
                    drop(block.await);
                }),
            ),
            ("retrier", Box::pin(async move { drop(retrier().run(|| ready(failed())).await) })),
            ("blocking retrier", Box::pin(async move { drop(retrier().run_sync(failed)) })),
            (
                "not retryable by a retrier",
                Box::pin(async move {
                    let retrier = retrier().retry_on([matchers::network]);
                    drop(retrier.run(|| ready(failed())).await);
                }),
            ),
            (
                "layer",
                Box::pin(async move {
                    let service = service_fn(|()| ready(failed()));
                    drop(RetryLayer::new(retrier()).layer(service).call(()).await);
                }),
            ),
        ];
        ways
    }};
}

#[tokio::test(start_paused = true)]
async fn the_option_sets_the_level_whatever_the_reason_in_every_way() {
    let all = [
        (ways!(off, Off), None),
        (ways!(debug, Debug), Some(Level::DEBUG)),
        (ways!(info, Info), Some(Level::INFO)),
        (ways!(warn, Warn), Some(Level::WARN)),
    ];
    listen();
    for (ways, level) in all {
        for (way, call) in ways {
            call.await;
            assert_eq!(levels(), Vec::from_iter(level), "{way}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_one_event_is_switched_off() {
    #[retry(policy = POLICY, log = off, name = "log.off")]
    async fn fetch() -> Result<u32, Failure> {
        failed()
    }
    let given_up = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&given_up);
    let listening = on_event(move |event| {
        if event.name() == "log.off" && matches!(event, Event::GaveUp { .. }) {
            counted.fetch_add(1, Relaxed);
        }
    });
    listen();
    fetch().await.unwrap_err();
    listening.stop();
    let messages: Vec<_> = take_events().into_iter().map(|event| event.message).collect();
    assert_eq!(messages, ["attempt failed, will be retried"]);
    let site = sites().into_iter().find(|site| site.name() == "log.off").unwrap();
    assert_eq!((given_up.load(Relaxed), site.stats().gave_up_by(Reason::Attempts)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_retrier_keeps_its_level_with_another_policy() {
    let retrier = Retrier::new(Policy::new()).log(LogLevel::Info).with_policy(POLICY);
    listen();
    retrier.run(|| ready(failed())).await.unwrap_err();
    assert_eq!(levels(), [Level::INFO]);
}

#[tokio::test(start_paused = true)]
async fn the_level_of_a_retry_is_set_by_itself() {
    #[retry(policy = POLICY, name = "log.retries")]
    async fn default() -> Result<u32, Failure> {
        failed()
    }
    #[retry(policy = POLICY, log_retries = warn, log = off)]
    async fn louder() -> Result<u32, Failure> {
        failed()
    }
    #[retry(policy = POLICY, log_retries = info)]
    fn blocking() -> Result<u32, Failure> {
        failed()
    }
    #[retry(policy = POLICY, log_retries = off, name = "log.no-retries")]
    async fn silent() -> Result<u32, Failure> {
        failed()
    }
    let heard_at = || {
        let heard = take_events().into_iter();
        let heard = heard.filter(|event| event.message == "attempt failed, will be retried");
        heard.map(|event| event.level).collect::<Vec<_>>()
    };
    let retrier = Retrier::new(POLICY).log_retries(LogLevel::Info).log(LogLevel::Off);
    listen();
    default().await.unwrap_err();
    assert_eq!(heard_at(), [Level::DEBUG]);
    louder().await.unwrap_err();
    assert_eq!(heard_at(), [Level::WARN]);
    blocking().unwrap_err();
    assert_eq!(heard_at(), [Level::INFO]);
    let block =
        retrying!(name = "log.block", policy = POLICY, log_retries = warn, async || failed());
    block.await.unwrap_err();
    assert_eq!(heard_at(), [Level::WARN]);
    retrier.run(|| ready(failed())).await.unwrap_err();
    assert_eq!(heard_at(), [Level::INFO]);
    let heard = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&heard);
    let listening = on_event(move |event| {
        if event.name() == "log.no-retries" && matches!(event, Event::Retry { .. }) {
            counted.fetch_add(1, Relaxed);
        }
    });
    silent().await.unwrap_err();
    listening.stop();
    assert!(heard_at().is_empty());
    let site = sites().into_iter().find(|site| site.name() == "log.no-retries").unwrap();
    assert_eq!((heard.load(Relaxed), site.stats().retries), (1, 1));
}
