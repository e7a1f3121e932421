//! `RetryError`, `Reason` and `Interrupted` as users see them.

use std::error::Error;
use std::io;

use retry_runtime::matchers::network;
use retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, Interrupted, Missing, Policy, Reason, Retrier,
    RetryError, classify, retry,
};
use tokio::time::sleep;

use crate::support::{Calls, Failure, millis, secs};

/// The error's text, including its cause.
fn full(error: &RetryError<Failure>) -> String {
    format!("{error:#}")
}

async fn end_of(policy: Policy) -> RetryError<Failure> {
    Retrier::new(policy).run(|| async { Err::<(), _>(Failure::Corrupt) }).await.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn it_is_a_sentence() {
    assert_eq!(
        full(&end_of(Policy::new()).await),
        "gave up after 3 attempts and 3s of waiting (all attempts were used): corrupt"
    );
    assert_eq!(
        full(&end_of(Policy::new().attempts(1)).await),
        "gave up after 1 attempt (all attempts were used): corrupt"
    );
    assert_eq!(
        full(&end_of(Policy::new().initial_delay(millis(1_234)).attempts(2)).await),
        "gave up after 2 attempts and 1.23s of waiting (all attempts were used): corrupt"
    );
    assert_eq!(
        full(&end_of(Policy::new().budget(secs(2))).await),
        "gave up after 2 attempts and 1s of waiting (the next wait would exceed the budget): corrupt"
    );
    assert_eq!(
        full(&end_of(Policy::new().deadline(secs(2))).await),
        "gave up after 2 attempts and 1s of waiting (the deadline leaves no time for another attempt): corrupt"
    );
    let when = Retrier::new(Policy::new()).when(Failure::is_busy);
    let error = when.run(|| async { Err::<(), _>(Failure::Corrupt) }).await.unwrap_err();
    assert_eq!(full(&error), "gave up after 1 attempt (the failure is not retryable): corrupt");
}

#[tokio::test(start_paused = true)]
async fn the_error_names_the_interruption() {
    let hang = || async {
        sleep(secs(60)).await;
        Ok::<(), Failure>(())
    };
    let timed = Retrier::new(Policy::new().attempts(1).timeout(secs(2))).run(hang).await;
    assert_eq!(
        full(&timed.unwrap_err()),
        "gave up after 1 attempt (all attempts were used): the attempt timed out after 2s"
    );
    let late = Retrier::new(Policy::new().deadline(secs(2))).run(hang).await.unwrap_err();
    assert_eq!(
        full(&late),
        "gave up after 1 attempt (the deadline leaves no time for another attempt): the deadline of 2s has passed"
    );
    assert!(late.source().unwrap().downcast_ref::<Interrupted>().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_error_describes_the_breaker() {
    static DB: CircuitBreaker =
        CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(1).half_open_requests(1));
    let rejected = || async {
        let retrier = Retrier::new(Policy::new()).breaker(&DB);
        full(&retrier.run(|| async { Ok::<(), Failure>(()) }).await.unwrap_err())
    };
    DB.try_acquire().unwrap().failure();
    assert_eq!(
        rejected().await,
        "gave up before the first attempt (the circuit breaker is open): \
         circuit breaker `db` is open for another 30s"
    );
    sleep(secs(30)).await;
    let probe = DB.try_acquire().unwrap();
    assert_eq!(
        rejected().await,
        "gave up before the first attempt (the circuit breaker is open): circuit breaker `db` is \
         half-open and admits no more probes"
    );
    drop(probe);
    DB.force_open();
    assert_eq!(
        rejected().await,
        "gave up before the first attempt (the circuit breaker is open): \
         circuit breaker `db` is open until it is reset"
    );
}

#[tokio::test(start_paused = true)]
async fn its_cause_is_printed_on_request_and_never_twice() {
    let error = end_of(Policy::new().attempts(1)).await;
    assert_eq!(error.to_string(), "gave up after 1 attempt (all attempts were used)");
    assert_eq!(error.source().unwrap().to_string(), "corrupt");
    let erased = anyhow::Error::from(error).context("import failed");
    assert_eq!(
        format!("{erased:#}"),
        "import failed: gave up after 1 attempt (all attempts were used): corrupt"
    );

    let chain = Retrier::new(Policy::new().attempts(1))
        .run(|| async { Err::<(), _>(anyhow::anyhow!("no disk").context("no table")) })
        .await
        .unwrap_err();
    assert_eq!(
        format!("{chain:#}"),
        "gave up after 1 attempt (all attempts were used): no table: no disk"
    );
}

/// An error with two more inside it.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("request failed")]
struct Request(#[from] Send);

#[derive(Debug, PartialEq, thiserror::Error)]
#[error("error sending request")]
struct Send(#[from] Refused);

#[derive(Debug, PartialEq, thiserror::Error)]
#[error("connection refused")]
struct Refused;

const CHAIN: &str = "gave up after 1 attempt (all attempts were used): request failed: error \
                     sending request: connection refused";

type BoxError = Box<dyn Error + core::marker::Send + Sync>;

#[tokio::test(start_paused = true)]
async fn the_chain_of_a_retriers_error_is_printed_on_request() {
    let retrier = || Retrier::new(Policy::new().attempts(1));
    let fails = || async { Err::<(), _>(Request(Send(Refused))) };

    let typed = retrier().run(fails).await.unwrap_err();
    assert_eq!(format!("{typed:#}"), CHAIN);
    assert_eq!(typed.to_string(), "gave up after 1 attempt (all attempts were used)");
    assert_eq!(format!("{:#}", anyhow::Error::from(typed)), CHAIN);
    assert_eq!(format!("{:#}", retrier().run(fails).await.unwrap_err().boxed()), CHAIN);

    let blocking = retrier().run_sync(|| Err::<(), BoxError>(Request(Send(Refused)).into()));
    let blocking = blocking.unwrap_err();
    assert_eq!(format!("{blocking:#}"), CHAIN);
    assert_eq!(format!("{:#}", blocking.boxed()), CHAIN);

    let late = Retrier::new(Policy::new().deadline(secs(2))).run(fails).await.unwrap_err();
    assert!(format!("{late:#}").ends_with(": error sending request: connection refused"));

    let opaque = retrier().opaque().run(fails).await.unwrap_err();
    assert!(format!("{opaque:#}").ends_with(": request failed"), "{opaque:#}");
    let mapped = retrier().run(fails).await.unwrap_err().map(|error| error.to_string());
    assert!(format!("{mapped:#}").ends_with(": request failed"), "{mapped:#}");
}

#[tokio::test(start_paused = true)]
async fn the_chain_of_an_annotated_functions_error_is_printed_on_request() {
    #[retry(attempts = 1)]
    async fn typed() -> Result<(), RetryError<Request>> {
        Err(Request(Send(Refused)))
    }
    #[retry(attempts = 1)]
    fn generic<E: Error + From<Request>>() -> Result<(), RetryError<E>> {
        Err(Request(Send(Refused)).into())
    }
    #[retry(attempts = 1)]
    async fn boxed() -> Result<(), RetryError<BoxError>> {
        Err(Request(Send(Refused)).into())
    }
    #[retry(attempts = 1, on_failure = fallback(|error: RetryError<Request>| format!("{error:#}")))]
    async fn recovered() -> Result<String, Request> {
        Err(Request(Send(Refused)))
    }
    static DOWN: CircuitBreaker =
        CircuitBreaker::new("down", BreakerConfig::new().failure_threshold(1));
    #[retry(breaker = DOWN)]
    async fn rejected() -> Result<(), RetryError<Request>> {
        Err(Request(Send(Refused)))
    }
    #[retry(attempts = 1, history = 1)]
    async fn around() -> Result<(), RetryError<RetryError<Request>>> {
        typed().await
    }

    assert_eq!(format!("{:#}", typed().await.unwrap_err()), CHAIN);
    assert_eq!(format!("{:#}", generic::<Request>().unwrap_err()), CHAIN);
    assert_eq!(format!("{:#}", boxed().await.unwrap_err()), CHAIN);
    assert_eq!(recovered().await.unwrap(), CHAIN);
    // The breaker rejects the second attempt: the last error is the one of the first.
    let rejected = rejected().await.unwrap_err();
    assert_eq!((rejected.reason(), rejected.attempts()), (Reason::CircuitOpen, 1));
    assert!(format!("{rejected:#}").ends_with(": error sending request: connection refused"));
    // A text that has been printed is not repeated.
    let around = around().await.unwrap_err();
    let begun = "gave up after 1 attempt (all attempts were used): ";
    assert_eq!(format!("{around:#}"), format!("{begun}{CHAIN}"));
    assert_eq!(around.history()[0].text(), CHAIN);
}

/// A text that contains its cause, as many `Display`s write it.
#[tokio::test(start_paused = true)]
async fn a_cause_that_is_in_the_text_already_is_printed_once() {
    #[derive(Debug, thiserror::Error)]
    #[error("no import: {0}")]
    struct Import(#[from] Refused);

    let retrier = Retrier::new(Policy::new().attempts(1));
    let error = retrier.run_sync(|| Err::<(), _>(Import(Refused))).unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "gave up after 1 attempt (all attempts were used): no import: connection refused"
    );
}

#[test]
fn one_that_is_made_of_an_interruption_has_not_been_counted() {
    let error = RetryError::<Failure>::from(Interrupted::timeout(secs(2)));
    assert_eq!(error.to_string(), "the call was interrupted");
    assert_eq!(error.source().unwrap().to_string(), "the attempt timed out after 2s");
    assert_eq!(full(&error), "the call was interrupted: the attempt timed out after 2s");
}

/// A `RetryError` of a text has no `source`: its `{:#}` text is read instead.
#[tokio::test(start_paused = true)]
async fn a_function_sees_through_the_retry_error_of_one_inside_it() {
    #[retry(attempts = 1)]
    async fn text() -> Result<(), RetryError<String>> {
        Err("connection refused".to_owned())
    }
    #[retry(attempts = 1)]
    async fn erased() -> Result<(), RetryError<anyhow::Error>> {
        Err(anyhow::anyhow!("connection refused").context("no answer"))
    }
    #[retry(retry_on = [network])]
    async fn by_class(calls: &Calls) -> Result<(), RetryError<String>> {
        calls.make();
        text().await.map_err(|error| format!("{error:#}"))
    }
    #[retry(retry_on = [pattern("connection refused$")])]
    async fn around_a_text(calls: &Calls) -> Result<(), RetryError<RetryError<String>>> {
        calls.make();
        text().await
    }
    #[retry(retry_on = [network])]
    async fn around_an_erased_error(
        calls: &Calls,
    ) -> Result<(), RetryError<RetryError<anyhow::Error>>> {
        calls.make();
        erased().await
    }
    let calls = Calls::new();
    by_class(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 3);
    around_a_text(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 6);
    around_an_erased_error(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 9);
}

#[tokio::test(start_paused = true)]
async fn its_source_is_the_last_error() {
    let error = Retrier::new(Policy::new())
        .run(|| async { Err::<(), _>(io::Error::from(io::ErrorKind::BrokenPipe)) })
        .await
        .unwrap_err();
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>()).unwrap();
    assert_eq!(source.kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test(start_paused = true)]
async fn as_an_io_error_it_keeps_the_kind_and_itself() {
    async fn load() -> io::Result<u32> {
        let retrier = Retrier::new(Policy::new()).retry_on([network]);
        Ok(retrier.run(|| async { Err(io::Error::from(io::ErrorKind::ConnectionReset)) }).await?)
    }

    let error = load().await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert!(classify::error(&error).contains(Class::NETWORK));
    let inside = error.get_ref().and_then(|inside| inside.downcast_ref::<RetryError<io::Error>>());
    assert_eq!(inside.unwrap().attempts(), 3);
}

#[tokio::test(start_paused = true)]
async fn as_an_io_error_it_keeps_the_reason_without_an_attempt() {
    static DB: CircuitBreaker = CircuitBreaker::new("io", BreakerConfig::new());
    DB.force_open();
    let retrier = Retrier::new(Policy::new()).breaker(&DB);
    let rejected = retrier.run(|| async { Ok::<_, io::Error>(7) }).await.unwrap_err();
    let error = io::Error::from(rejected);
    assert_eq!(error.kind(), io::ErrorKind::Other);
    assert!(matches!(Interrupted::find_in(&error), Some(Interrupted::CircuitOpen { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_missing_value_is_an_error_that_reads_well() {
    #[retry(attempts = 1, on_failure = fallback(|error: RetryError<Missing>| format!("{error:#}")))]
    async fn find() -> Option<String> {
        None
    }
    assert_eq!(
        find().await.unwrap(),
        "gave up after 1 attempt (all attempts were used): there is no value"
    );
}

#[test]
fn reasons_are_words_for_machines_and_clauses_for_people() {
    let reasons = [
        (Reason::Attempts, "attempts"),
        (Reason::NotRetryable, "not_retryable"),
        (Reason::NotRepeatable, "not_repeatable"),
        (Reason::Budget, "budget"),
        (Reason::Deadline, "deadline"),
        (Reason::MaxElapsed, "max_elapsed"),
        (Reason::Cancelled, "cancelled"),
        (Reason::Quota, "quota"),
        (Reason::CircuitOpen, "circuit_open"),
        (Reason::Held, "held"),
        (Reason::Nested, "nested"),
        (Reason::RetryAfter, "retry_after"),
    ];
    assert_eq!(reasons.map(|(reason, _)| reason), Reason::ALL);
    for (reason, word) in reasons {
        assert_eq!(reason.as_str(), word);
        assert!(reason.to_string().contains(' '), "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retrier_sees_through_the_retry_error_of_one_inside_it() {
    let inner = Retrier::new(Policy::new().attempts(1));
    let outer = Retrier::new(Policy::new().attempts(2)).retry_on([network]);
    for (text, attempts) in [("connection refused", 2), ("no such table", 1)] {
        let ended = outer.run(|| inner.run(move || async move { Err::<(), _>(text) })).await;
        assert_eq!(ended.unwrap_err().attempts(), attempts, "{text}");
        let fail = || inner.run(move || async move { Err::<(), _>(anyhow::anyhow!(text)) });
        assert_eq!(outer.run(fail).await.unwrap_err().attempts(), attempts, "{text}");
    }
}

async fn anyhow(error: Result<(), Failure>) -> anyhow::Result<()> {
    Retrier::new(Policy::new().attempts(1)).run(|| std::future::ready(error.clone())).await?;
    let erased = Retrier::new(Policy::new().attempts(1));
    let erased = erased.run(|| async { Err::<(), _>(anyhow::anyhow!("erased")) }).await;
    erased.map_err(RetryError::into_error)?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_last_error_is_accessible_for_every_reason() {
    async fn read(hangs: bool) -> Result<(), Failure> {
        let retrier = Retrier::new(Policy::new().attempts(1).timeout(secs(1)));
        let ended = retrier.run(|| async {
            if hangs {
                sleep(secs(60)).await;
            }
            Err(Failure::Corrupt)
        });
        ended.await.map_err(RetryError::into_error)
    }
    assert_eq!(read(false).await, Err(Failure::Corrupt));
    assert!(matches!(read(true).await, Err(Failure::Interrupted(Interrupted::Timeout { .. }))));

    let last = end_of(Policy::new().attempts(1)).await;
    assert_eq!(last.into_last_or_else(Failure::Interrupted), Failure::Corrupt);
    let cut = Retrier::new(Policy::new().attempts(1).timeout(secs(1)));
    let cut = cut.run(std::future::pending::<Result<(), Failure>>).await.unwrap_err();
    let timed_out = Failure::Interrupted(Interrupted::timeout(secs(1)));
    assert_eq!(cut.into_last_or_else(Failure::Interrupted), timed_out);

    // `?` puts the whole `RetryError` into an `anyhow::Error`; `into_error` only the last error.
    let ended = anyhow(Err(Failure::Corrupt)).await.unwrap_err();
    assert!(ended.downcast_ref::<RetryError<Failure>>().is_some());
    assert_eq!(anyhow(Ok(())).await.unwrap_err().to_string(), "erased");
}

#[test]
fn methods_of_a_trait_of_the_program_can_have_the_names_of_other_errors() {
    trait HttpStatus {
        fn status(&self) -> u16;
        fn is_timeout(&self) -> bool;
    }

    impl<E> HttpStatus for RetryError<E> {
        fn status(&self) -> u16 {
            503
        }

        fn is_timeout(&self) -> bool {
            self.interrupted().is_some()
        }
    }

    let error = RetryError::<Failure>::from(Interrupted::Cancelled);
    assert_eq!((error.status(), error.is_timeout()), (503, true));
}
