//! `history = n`: the last failures of a call, in its `RetryError`. Hedges are in `hedge/group.rs`.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::{Future, pending, ready};
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, PastFailure, Policy, Reason, Retrier, RetryError, policy,
    retry, retrying,
};
use tokio::sync::Notify;
use tokio::time::sleep;
use tower::{Layer as _, Service as _, service_fn};

use crate::support::{Calls, Classified, Failure, millis, secs};

type Called<'c> = Pin<Box<dyn Future<Output = Result<u32, RetryError<String>>> + 'c>>;

/// The number, text, class and wait of a failure.
type Facts<'h> = (u32, &'h str, Class, Option<Duration>);

fn facts<E>(error: &RetryError<E>) -> Vec<Facts<'_>> {
    error.history().iter().map(|it| (it.number(), it.text(), it.class(), it.wait())).collect()
}

fn texts<E>(error: &RetryError<E>) -> Vec<&str> {
    error.history().iter().map(PastFailure::text).collect()
}

const POLICY: Policy = policy!(attempts = 4, initial_delay = "1ms", max_delay = "3ms");
const THREE: u32 = 3;

fn refused(calls: &Calls) -> Result<u32, String> {
    Err(format!("connection reset at call {}", calls.make()))
}

#[retry(policy = POLICY, history = 3)]
async fn function(calls: &Calls) -> Result<u32, RetryError<String>> {
    refused(calls)
}

#[retry(policy = POLICY, history = THREE)]
fn blocking(calls: &Calls) -> Result<u32, RetryError<String>> {
    refused(calls)
}

#[retry(policy = POLICY, history = 3, map_error = |error: RetryError<String>| error)]
async fn mapped(calls: &Calls) -> Result<u32, RetryError<String>> {
    refused(calls)
}

/// Its fallback passes the error on.
#[retry(policy = POLICY, history = 3, on_failure = fallback(|error| async { Err(error) }))]
async fn fallen_back(calls: &Calls) -> Result<u32, RetryError<String>> {
    refused(calls)
}

/// Its policy, breaker and deadline are read at runtime.
#[retry(policy = policy, history = 3, deadline = "1h", breaker = breaker, cancel = pending::<()>())]
async fn protected(
    calls: &Calls,
    policy: Policy,
    breaker: &CircuitBreaker,
) -> Result<u32, RetryError<String>> {
    refused(calls)
}

fn by_block(calls: &Arc<Calls>) -> Called<'_> {
    Box::pin(retrying!(
        name = "history.block",
        policy = POLICY,
        history = 3,
        async || -> Result<u32, RetryError<String>> { refused(calls) }
    ))
}

fn by_blocking_block(calls: &Arc<Calls>) -> Called<'_> {
    Box::pin(ready(retrying!(
        name = "history.blocking-block",
        policy = POLICY,
        history = 3,
        || -> Result<u32, RetryError<String>> { refused(calls) }
    )))
}

fn breaker() -> Arc<CircuitBreaker> {
    Arc::new(CircuitBreaker::new("never opens", BreakerConfig::new().failure_threshold(99)))
}

fn retrier() -> Retrier {
    Retrier::new(POLICY).history(3)
}

fn by_layer(calls: &Arc<Calls>, retrier: Retrier) -> Called<'_> {
    let calls = Arc::clone(calls);
    let service = service_fn(move |()| ready(refused(&calls)));
    Box::pin(RetryLayer::new(retrier).layer(service).call(()))
}

type Way = fn(&Arc<Calls>) -> Called<'_>;

const WAYS: [(&str, Way); 13] = [
    ("function", |calls| Box::pin(function(calls))),
    ("blocking function", |calls| Box::pin(ready(blocking(calls)))),
    ("map_error", |calls| Box::pin(mapped(calls))),
    ("fallback", |calls| Box::pin(fallen_back(calls))),
    ("protected function", |calls| Box::pin(async { protected(calls, POLICY, &breaker()).await })),
    ("block", by_block),
    ("blocking block", by_blocking_block),
    ("retrier", |calls| Box::pin(async { retrier().run(|| ready(refused(calls))).await })),
    ("protected retrier", |calls| {
        let retrier = retrier().breaker(breaker());
        Box::pin(async move { retrier.run(|| ready(refused(calls))).await })
    }),
    ("blocking retrier", |calls| Box::pin(ready(retrier().run_sync(|| refused(calls))))),
    ("retrier with state", |calls| {
        Box::pin(async { retrier().run_with((), |(), _| ready(((), refused(calls)))).await.1 })
    }),
    ("layer", |calls| by_layer(calls, retrier())),
    ("protected layer", |calls| by_layer(calls, retrier().breaker(breaker()))),
];

#[tokio::test(start_paused = true)]
async fn the_last_failures_of_a_call_are_in_its_error_in_every_way() {
    for (way, call) in WAYS {
        let calls = Arc::new(Calls::new());
        let error = call(&calls).await.unwrap_err();
        let expected = [
            (2, "connection reset at call 2", Class::NETWORK, Some(millis(2))),
            (3, "connection reset at call 3", Class::NETWORK, Some(millis(3))),
            (4, "connection reset at call 4", Class::NETWORK, None),
        ];
        assert_eq!(facts(&error), expected, "{way}");
        assert_eq!((error.attempts(), error.reason()), (4, Reason::Attempts), "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fallback_sees_it_whatever_the_function_returns() {
    #[retry(history = 2, on_failure = fallback(|error| seen.set(error.history().to_vec())))]
    async fn of_an_option(seen: &Cell<Vec<PastFailure>>) -> Option<()> {
        None
    }
    let seen = Cell::default();
    assert_eq!(of_an_option(&seen).await, Some(()));
    let texts: Vec<_> = seen.take().iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["attempt 2: there is no value", "attempt 3: there is no value"]);
}

#[tokio::test(start_paused = true)]
async fn without_the_option_nothing_is_kept() {
    #[retry(attempts = 2)]
    async fn fetch() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    assert_eq!(fetch().await.unwrap_err().history(), []);
    let retrier = Retrier::new(POLICY);
    for retrier in [retrier.clone(), retrier.history(5).history(0)] {
        let error = retrier.run(|| ready(Err::<(), _>("busy"))).await.unwrap_err();
        assert_eq!(error.history(), []);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_gives_up_at_once_keeps_its_failure() {
    #[retry(history = 5, retry_on = [network])]
    async fn fetch() -> Result<(), RetryError<String>> {
        Err("operation timed out".to_owned())
    }
    let error = fetch().await.unwrap_err();
    assert_eq!(error.reason(), Reason::NotRetryable);
    assert_eq!(facts(&error), [(1, "operation timed out", Class::TIMEOUT, None)]);
    let retrier = Retrier::new(Policy::new().attempts(1)).history(5);
    let error = retrier.run(|| ready(Err::<(), _>("operation timed out"))).await.unwrap_err();
    assert_eq!(facts(&error), [(1, "operation timed out", Class::TIMEOUT, None)]);
}

#[tokio::test(start_paused = true)]
async fn a_retrier_keeps_at_most_a_hundred_and_keeps_them_with_another_policy() {
    let patient = Policy::new().attempts(150).initial_delay(millis(1));
    let retrier = Retrier::new(POLICY).history(u32::MAX).with_policy(patient);
    let error = retrier.run(|| ready(Err::<(), _>("busy"))).await.unwrap_err();
    let numbers = error.history().iter().map(PastFailure::number);
    assert_eq!(numbers.collect::<Vec<_>>(), (51..=150).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn the_class_is_the_one_that_matchers_see() {
    #[retry(attempts = 2, history = 5)]
    async fn of_its_own() -> Result<(), RetryError<Classified>> {
        Err(Classified(Class::CONFLICT, None))
    }
    #[retry(attempts = 2, history = 5, classify = |_| Some(Class::RATE_LIMIT))]
    async fn by_option() -> Result<(), RetryError<String>> {
        Err("too fast".to_owned())
    }
    let classes = |history: &[PastFailure]| history.iter().map(PastFailure::class).collect();
    let seen: Vec<Class> = classes(of_its_own().await.unwrap_err().history());
    assert_eq!(seen, [Class::CONFLICT; 2]);
    let seen: Vec<Class> = classes(by_option().await.unwrap_err().history());
    assert_eq!(seen, [Class::RATE_LIMIT; 2]);
    let retrier = Retrier::new(Policy::new().attempts(2)).history(5);
    let own = retrier.clone().classified();
    let error = own.run(|| ready(Err::<(), _>(Classified(Class::CONFLICT, None)))).await;
    assert_eq!(error.unwrap_err().history()[1].class(), Class::CONFLICT);
    let given = retrier.classify(|_: &String| Some(Class::RATE_LIMIT));
    let error = given.run(|| ready(Err::<(), _>("too fast".to_owned()))).await;
    assert_eq!(error.unwrap_err().history()[1].class(), Class::RATE_LIMIT);
}

/// Opens at the first failure, for 10 s.
const QUICK: BreakerConfig = BreakerConfig::new().failure_threshold(1).timeout(secs(10));

#[tokio::test(start_paused = true)]
async fn attempts_that_a_breaker_rejected_do_not_count() {
    #[retry(attempts = 9, history = 9, breaker = breaker, when_open = wait, deadline = "25s")]
    async fn waiting(calls: &Calls, breaker: &CircuitBreaker) -> Result<u32, RetryError<String>> {
        refused(calls)
    }
    #[retry(attempts = 9, history = 9, breaker = breaker)]
    async fn rejected(
        calls: &Calls,
        breaker: &CircuitBreaker,
        opens: bool,
    ) -> Result<u32, RetryError<String>> {
        if opens {
            breaker.force_open();
        }
        refused(calls)
    }
    let quick = || Arc::new(CircuitBreaker::new("quick", QUICK));
    let two = ["connection reset at call 1", "connection reset at call 2"];

    let error = waiting(&Calls::new(), &quick()).await.unwrap_err();
    assert_eq!(texts(&error)[..2], two);
    assert_eq!(u32::try_from(error.history().len()), Ok(error.attempts()), "{error:?}");

    let error = rejected(&Calls::new(), &quick(), true).await.unwrap_err();
    assert_eq!((error.reason(), texts(&error)), (Reason::CircuitOpen, vec![two[0]]));
    let shut = quick();
    shut.force_open();
    let error = rejected(&Calls::new(), &shut, false).await.unwrap_err();
    assert_eq!((error.reason(), texts(&error)), (Reason::CircuitOpen, vec![]));

    for waits in [true, false] {
        let retrier =
            Retrier::new(Policy::new().attempts(9).deadline(secs(25))).history(9).breaker(quick());
        let retrier = if waits { retrier.wait_when_open() } else { retrier };
        let calls = Calls::new();
        let error = retrier.run(|| ready(refused(&calls))).await.unwrap_err();
        assert_eq!(texts(&error)[0], two[0]);
        assert_eq!(u32::try_from(error.history().len()), Ok(error.attempts()), "{error:?}");
        let service = service_fn(|()| ready(Err::<(), _>("refused")));
        let error = RetryLayer::new(retrier).layer(service).call(()).await.unwrap_err();
        assert_eq!(u32::try_from(error.history().len()), Ok(error.attempts()), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_keeps_the_history() {
    #[retry(attempts = 2, history = 9, context = cx)]
    async fn function(calls: &Calls) -> Result<u32, RetryError<String>> {
        if cx.number() == 2 {
            cx.reset();
        }
        refused(calls)
    }
    let three = [1, 2, 3].map(|call| format!("connection reset at call {call}"));
    let error = function(&Calls::new()).await.unwrap_err();
    assert_eq!(error.attempts(), 3);
    assert_eq!(texts(&error), three);
    let calls = Calls::new();
    let block = retrying!(name = "history.reset", attempts = 2, history = 9, async |cx| -> Result<
        u32,
        RetryError<String>,
    > {
        if cx.number() == 2 {
            cx.reset();
        }
        refused(&calls)
    });
    assert_eq!(texts(&block.await.unwrap_err()), three);
    let (calls, retrier) = (Calls::new(), Retrier::new(Policy::new().attempts(2)).history(9));
    let ended = retrier.run_with((), |(), cx| {
        if cx.number() == 2 {
            cx.reset();
        }
        ready(((), refused(&calls)))
    });
    assert_eq!(texts(&ended.await.1.unwrap_err()), three);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_has_it() {
    #[retry(history = 9, initial_delay = "10s", cancel = stop.notified())]
    async fn waiting(calls: &Calls, stop: &Notify) -> Result<u32, RetryError<String>> {
        refused(calls)
    }
    let stop = Notify::new();
    let calls = Calls::new();
    let stopping = async {
        sleep(secs(3)).await;
        stop.notify_one();
    };
    let (error, ()) = tokio::join!(waiting(&calls, &stop), stopping);
    let error = error.unwrap_err();
    assert_eq!(error.reason(), Reason::Cancelled);
    let expected = (1, "connection reset at call 1", Class::NETWORK, Some(secs(10)));
    assert_eq!(facts(&error), [expected]);
    stop.notify_one();
    let error = waiting(&calls, &stop).await.unwrap_err();
    assert_eq!((error.reason(), facts(&error)), (Reason::Cancelled, vec![]));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_a_limit_cut_off_is_one_of_them() {
    #[retry(attempts = 2, history = 9, timeout = "2s")]
    async fn timed() -> Result<u32, RetryError<String>> {
        pending().await
    }
    #[retry(history = 9, deadline = "3s")]
    async fn bounded(calls: &Calls) -> Result<u32, RetryError<String>> {
        match calls.make() {
            1 => Err("busy".to_owned()),
            _ => pending().await,
        }
    }
    let timed_out = "the attempt timed out after 2s";
    let cut = [(1, timed_out, Class::TIMEOUT, Some(secs(1))), (2, timed_out, Class::TIMEOUT, None)];
    assert_eq!(facts(&timed().await.unwrap_err()), cut);
    let retrier = Retrier::new(Policy::new().attempts(2).timeout(secs(2))).history(9);
    let error = retrier.run(pending::<Result<(), String>>).await.unwrap_err();
    assert_eq!(facts(&error), cut);

    let error = bounded(&Calls::new()).await.unwrap_err();
    assert_eq!(error.last().map(String::as_str), Some("busy"), "it says more than the limit");
    assert_eq!(texts(&error), ["busy", "the deadline of 3s has passed"]);
    let (calls, retrier) = (Calls::new(), Retrier::new(Policy::new().deadline(secs(3))).history(9));
    let error = retrier.run(|| async {
        match calls.make() {
            1 => Err::<(), _>("busy"),
            _ => pending().await,
        }
    });
    assert_eq!(texts(&error.await.unwrap_err()), ["busy", "the deadline of 3s has passed"]);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_was_retried_is_one_of_them() {
    #[retry(attempts = 2, history = 9, retry_on = [ok(|call: &u32| *call == 1), when(|_| true)])]
    async fn fetch(calls: &Calls) -> Result<u32, RetryError<Failure>> {
        match calls.make() {
            1 => Ok(1),
            call => Err(Failure::Busy(call)),
        }
    }
    let value = (1, "the value is one that is retried", Class::empty(), Some(secs(1)));
    let busy = (2, "busy at call 2", Class::empty(), None);
    assert_eq!(facts(&fetch(&Calls::new()).await.unwrap_err()), [value, busy]);

    let policy = Policy::new().attempts(2);
    let picked = Retrier::new(policy).history(9).retry_on_value(|call: &u32| *call == 1);
    let call = |calls: &Calls| match calls.make() {
        1 => Ok(1),
        call => Err(Failure::Busy(call)),
    };
    let calls = Calls::new();
    let error = picked.run(|| ready(call(&calls))).await.unwrap_err();
    assert_eq!(facts(&error), [value, busy]);
    let calls = Arc::new(Calls::new());
    let service = service_fn(move |()| ready(call(&calls)));
    let classified = |call: &u32| (*call == 1).then_some(Classified(Class::SERVER_ERROR, None));
    let layer = RetryLayer::new(Retrier::new(policy).history(9)).classify_response(classified);
    let error = layer.layer(service).call(()).await.unwrap_err();
    let response = (1, "it speaks for itself", Class::SERVER_ERROR, Some(secs(1)));
    assert_eq!(facts(&error), [response, busy]);
}

/// A text in pieces, whose `Display` panics if one cannot be written.
struct Pieces(Vec<String>);

impl fmt::Display for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            f.write_str(piece).expect("a text can be written");
        }
        Ok(())
    }
}

/// Shown by its `Debug`, as it has no other text.
struct OnlyDebug(Pieces);

impl fmt::Debug for OnlyDebug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[test]
fn a_text_is_cut_at_a_character_after_a_kibibyte() {
    #[retry(attempts = 1, history = 1)]
    fn shown(error: &RefCell<Option<OnlyDebug>>) -> Result<(), RetryError<OnlyDebug>> {
        Err(error.take().expect("an error"))
    }
    let cases: [(&[&str], usize); 5] = [
        (&["x".repeat(1_024).leak()], 1_024),
        (&["x".repeat(1_025).leak()], 1_024),
        (&["x", "é".repeat(600).leak()], 1_023),
        (&["x".repeat(1_023).leak(), "€", "y"], 1_023),
        (&["€".repeat(341).leak(), "y", "z"], 1_024),
    ];
    let once = Retrier::new(Policy::new().attempts(1)).history(1).opaque();
    for (pieces, kept) in cases {
        let whole = pieces.concat();
        let pieces = || Pieces(pieces.iter().map(ToString::to_string).collect());
        let error = once.run_sync(|| Err::<(), _>(pieces())).unwrap_err();
        assert_eq!(texts(&error), [&whole[..kept]]);
        let error = shown(&RefCell::new(Some(OnlyDebug(pieces())))).unwrap_err();
        assert_eq!(texts(&error), [&whole[..kept]]);
    }
}

#[test]
fn a_failing_display_keeps_its_partial_output() {
    struct Failing;

    impl fmt::Display for Failing {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("half a te")?;
            Err(fmt::Error)
        }
    }

    let once = Retrier::new(Policy::new().attempts(1)).history(1).opaque();
    let error = once.run_sync(|| Err::<(), _>(Failing)).unwrap_err();
    assert_eq!(texts(&error), ["half a te"]);
}

#[tokio::test(start_paused = true)]
async fn the_cause_of_an_error_is_in_its_text() {
    #[retry(attempts = 1, history = 1)]
    async fn fetch() -> Result<(), RetryError<anyhow::Error>> {
        Err(anyhow::anyhow!("no disk").context("no table"))
    }
    assert_eq!(texts(&fetch().await.unwrap_err()), ["no table: no disk"]);
}

#[test]
fn it_outlives_its_error_on_another_thread() {
    /// Neither `Send` nor `Clone`, and it borrows.
    struct Local<'a>(&'a str, PhantomData<Rc<str>>);

    impl fmt::Display for Local<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    #[retry(attempts = 2, initial_delay = "1ms", history = 5)]
    fn borrowing(text: &str) -> Result<(), RetryError<Local<'_>>> {
        Err(Local(text, PhantomData))
    }

    let text = String::from("local");
    let history = borrowing(&text).unwrap_err().history().to_vec();
    drop(text);
    let there = history.clone();
    let texts = thread::spawn(move || there.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(texts.join().unwrap(), ["attempt 1: local", "attempt 2: local"]);
    assert_eq!(history, history.clone());
}

#[test]
fn an_error_keeps_it_when_it_is_cloned_mapped_or_boxed() {
    let retrier = Retrier::new(POLICY).history(2);
    let error = retrier.run_sync(|| Err::<(), _>("busy".to_owned())).unwrap_err();
    let same = error.clone();
    assert_eq!(error, same);
    let forgetful = Retrier::new(POLICY).run_sync(|| Err::<(), _>("busy".to_owned()));
    assert_ne!(error, forgetful.unwrap_err());
    assert_eq!(error.clone().map(|text| text.len()).history(), same.history());
    let boxed = error.boxed();
    let inside: &RetryError<Arc<dyn std::error::Error + Send + Sync>> =
        boxed.downcast_ref().unwrap();
    assert_eq!(inside.history(), same.history());
    assert!(format!("{same:?}").contains("history: [PastFailure { number: 3, text: \"busy\""));
}

mod sources {
    use std::io;

    use super::*;
    use crate::support::{listen, take_events};

    const FULL: &str = "request failed: upload: connection refused";

    fn refused() -> io::Error {
        io::Error::from(io::ErrorKind::ConnectionRefused)
    }

    #[derive(Debug, thiserror::Error)]
    #[error("upload")]
    struct Upload(#[from] io::Error);

    #[derive(Debug, thiserror::Error, retry_runtime::Classify)]
    enum Derived {
        #[error("request failed")]
        Http(#[from] Upload),
        #[error("{_0}")]
        Repeats(#[source] io::Error),
    }

    #[derive(Debug, thiserror::Error)]
    #[error("request failed")]
    struct Plain(#[from] Upload);

    fn plain() -> Plain {
        Plain(Upload(refused()))
    }

    fn event_texts() -> Vec<String> {
        take_events().iter().filter_map(|event| event.field("error").map(str::to_owned)).collect()
    }

    const TWICE: Policy = policy!(attempts = 2, initial_delay = "1ms");

    #[retry(policy = TWICE, history = 2)]
    fn derived(error: impl Fn() -> Derived) -> Result<(), RetryError<Derived>> {
        Err(error())
    }

    #[retry(policy = TWICE, history = 2)]
    fn underived() -> Result<(), RetryError<Plain>> {
        Err(plain())
    }

    #[retry(policy = TWICE, history = 2)]
    fn boxed() -> Result<(), RetryError<Box<dyn std::error::Error>>> {
        Err(plain().into())
    }

    #[test]
    fn texts_contain_the_sources_of_an_error() {
        listen();
        let error = derived(|| Derived::Http(Upload(refused()))).unwrap_err();
        assert_eq!(texts(&error), [FULL; 2]);
        assert_eq!(texts(&underived().unwrap_err()), [FULL; 2]);
        assert_eq!(texts(&boxed().unwrap_err()), [FULL; 2]);
        let retrier = Retrier::new(TWICE).history(2);
        let error = retrier.run_sync(|| Err::<(), _>(plain())).unwrap_err();
        assert_eq!(texts(&error), [FULL; 2]);
        let error = retrier
            .classified()
            .run_sync(|| Err::<(), _>(Derived::Http(Upload(refused()))))
            .unwrap_err();
        assert_eq!(texts(&error), [FULL; 2]);
        assert_eq!(event_texts(), [FULL; 10]);
    }

    #[test]
    fn a_source_that_the_error_repeats_is_written_once() {
        let error = derived(|| Derived::Repeats(refused())).unwrap_err();
        assert_eq!(texts(&error), ["connection refused"; 2]);
    }
}
