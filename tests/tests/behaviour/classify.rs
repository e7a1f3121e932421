//! `#[derive(Classify)]`, `classify::register` and `classify = …`: the class of the program's own
//! errors, and of those of other crates.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use retry_runtime::http::StatusError;
use retry_runtime::matchers::{conflict, network, transient};
use retry_runtime::{Class, Classify, Interrupted, Policy, Retrier, classify, retry};
use retry_workflow::Failure;
use thiserror::Error as ThisError;
use tokio::time::Instant;

use crate::support::Calls;

const S: Duration = Duration::from_secs(1);

#[derive(Debug, ThisError, Classify)]
enum FetchError {
    #[error(transparent)]
    Http(#[from] StatusError),
    #[error("reading")]
    Io(#[from] io::Error),
    #[error("queue full")]
    #[classify(rate_limit, retry_after = wait)]
    Full { wait: Duration },
    #[error("status {0}")]
    #[classify(status = 0, retry_after = 1)]
    Status(u16, Option<Duration>),
    #[error("the connection timed out, for a user that does not exist")]
    #[classify(never)]
    NotFound,
    #[error("{0}")]
    #[classify(text)]
    Legacy(String),
    #[error("odd {code}: timed out")]
    #[classify(with = Self::judge)]
    Odd { code: i32 },
    #[error("both")]
    #[classify(network, timeout)]
    Both,
    #[error("unsent")]
    #[classify(connect)]
    Unsent,
    #[error("nested")]
    #[classify(transparent = inner)]
    Nested { inner: Box<FetchError>, _depth: u32 },
}

impl FetchError {
    fn judge(&self) -> Class {
        match self {
            Self::Odd { code: 7 } => Class::CONFLICT,
            _ => Class::empty(),
        }
    }
}

fn busy() -> StatusError {
    StatusError::new(StatusCode::TOO_MANY_REQUESTS, Some(7 * S))
}

#[test]
fn each_variant_has_the_class_of_its_attribute() {
    for (error, class, wait) in [
        (FetchError::Http(busy()), Class::RATE_LIMIT, Some(7 * S)),
        (io::Error::from(io::ErrorKind::ConnectionReset).into(), Class::NETWORK, None),
        (io::Error::from(io::ErrorKind::PermissionDenied).into(), Class::empty(), None),
        (FetchError::Full { wait: 3 * S }, Class::RATE_LIMIT, Some(3 * S)),
        (FetchError::Status(504, Some(S)), Class::SERVER_ERROR | Class::TIMEOUT, Some(S)),
        (FetchError::Status(404, None), Class::empty(), None),
        (FetchError::NotFound, Class::empty(), None),
        (FetchError::Legacy("connection reset".into()), Class::NETWORK, None),
        (FetchError::Unsent, Class::NETWORK | Class::CONNECT, None),
        (FetchError::Legacy("no tax rate".into()), Class::empty(), None),
        (FetchError::Odd { code: 7 }, Class::CONFLICT, None),
        (FetchError::Odd { code: 8 }, Class::empty(), None),
        (FetchError::Both, Class::NETWORK | Class::TIMEOUT, None),
        (
            FetchError::Nested { inner: Box::new(FetchError::Http(busy())), _depth: 1 },
            Class::RATE_LIMIT,
            Some(7 * S),
        ),
    ] {
        assert_eq!((error.class(), error.retry_after()), (class, wait), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_of_an_error_behind_transparent_is_obeyed() {
    #[retry(attempts = 2, retry_on = [transient])]
    async fn fetch() -> Result<(), FetchError> {
        Err(busy())?
    }
    #[retry(attempts = 2, retry_on = [transient])]
    async fn erased() -> anyhow::Result<()> {
        Err(FetchError::Http(busy()))?
    }

    for call in [true, false] {
        let start = Instant::now();
        let failed = if call { fetch().await.is_err() } else { erased().await.is_err() };
        assert!(failed);
        assert_eq!(start.elapsed(), 7 * S, "behind anyhow: {}", !call);
    }
}

#[test]
fn a_derived_type_is_found_at_any_depth_and_decides_for_its_source() {
    #[derive(Debug, ThisError, Classify)]
    #[error("gave up the session")]
    #[classify(never)]
    struct Final(#[source] io::Error);

    let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
    assert_eq!(classify::error(&Final(reset())), Class::empty());
    assert_eq!(classify::error(&io::Error::other(Final(reset()))), Class::empty());
    let anyhow = anyhow::Error::from(FetchError::Status(503, None)).context("importing");
    assert_eq!(classify::error(anyhow.as_ref()), Class::SERVER_ERROR);
    let boxed: Box<dyn Error> = Box::new(FetchError::Status(503, None));
    assert_eq!(classify::error(&*boxed), Class::SERVER_ERROR);
    let shared: Arc<dyn Error + Send + Sync> = Arc::new(FetchError::Both);
    assert_eq!(classify::error(&io::Error::other(shared)), Class::NETWORK | Class::TIMEOUT);
}

#[test]
fn pointers_classify_as_their_contents() {
    fn class(error: &impl Classify) -> (Class, Option<Duration>) {
        (error.class(), error.retry_after())
    }
    assert_eq!(class(&Box::new(FetchError::Http(busy()))), (Class::RATE_LIMIT, Some(7 * S)));
    assert_eq!(class(&Arc::new(busy())), (Class::RATE_LIMIT, Some(7 * S)));
    let object: Box<dyn Classify> = Box::new(FetchError::Both);
    assert_eq!(class(&object).0, Class::NETWORK | Class::TIMEOUT);
}

#[test]
fn any_shape_of_type_can_be_derived() {
    #[derive(Debug, ThisError, Classify)]
    #[classify(server_error)]
    enum Defaulted {
        #[error("a")]
        A,
        #[error("b")]
        #[classify(never)]
        B,
        #[error("c")]
        C(#[source] io::Error),
    }
    #[derive(Debug, ThisError, Classify)]
    #[error("generic")]
    struct Generic<T>(#[source] T)
    where
        T: Error + 'static;
    #[derive(Debug, ThisError, Classify)]
    #[error("{text}")]
    #[classify(text)]
    struct Borrowing<'a, const N: usize> {
        text: &'a str,
        r#type: [u8; N],
    }
    #[derive(Debug, Classify)]
    enum Never {}
    impl std::fmt::Display for Never {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            match *self {}
        }
    }
    // No `Error`, and so in no chain.
    #[derive(Debug, Classify)]
    #[classify(timeout)]
    struct NoError;
    impl std::fmt::Display for NoError {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("late")
        }
    }

    assert_eq!(Defaulted::A.class(), Class::SERVER_ERROR);
    assert_eq!(Defaulted::B.class(), Class::empty());
    let reset = io::Error::from(io::ErrorKind::ConnectionReset);
    assert_eq!(Defaulted::C(reset).class(), Class::NETWORK);
    assert_eq!(Generic(FetchError::Both).class(), Class::NETWORK | Class::TIMEOUT);
    let borrowing = Borrowing { text: "timed out", r#type: [0; 2] };
    assert_eq!((borrowing.class(), borrowing.r#type), (Class::TIMEOUT, [0; 2]));
    assert_eq!(NoError.class(), Class::TIMEOUT);
    assert!(Vec::<Never>::new().iter().all(|never| never.class().is_empty()));
}

#[derive(Debug, ThisError, Classify)]
#[error("the store failed")]
#[classify(transparent = cause)]
struct Store<E: Error + 'static> {
    #[source]
    cause: E,
}

#[tokio::test(start_paused = true)]
async fn generic_type_is_classified_by_a_recognised_cause() {
    fn judge<E: Error + 'static>(cause: E) -> (Class, Option<Duration>)
    where
        Store<E>: Classify,
    {
        let store = Store { cause };
        (store.class(), store.retry_after())
    }
    let io = io::Error::from;
    let elapsed = tokio::time::timeout(S, std::future::pending::<()>()).await.unwrap_err();

    assert_eq!(judge(io(io::ErrorKind::ConnectionReset)), (Class::NETWORK, None));
    assert_eq!(judge(io(io::ErrorKind::PermissionDenied)), (Class::empty(), None));
    assert_eq!(judge(Box::new(io(io::ErrorKind::TimedOut))), (Class::TIMEOUT, None));
    assert_eq!(judge(Arc::new(io(io::ErrorKind::TimedOut))), (Class::TIMEOUT, None));
    // Its kind says nothing: what it holds decides, and knows the wait.
    assert_eq!(judge(io::Error::other(busy())), (Class::RATE_LIMIT, Some(7 * S)));
    assert_eq!(judge(io::Error::other("HTTP 503")), (Class::SERVER_ERROR, None));
    assert_eq!(judge(io::Error::other(queue::PublishError(1))), (Class::RATE_LIMIT, None));
    assert_eq!(judge(elapsed), (Class::TIMEOUT, None));
    assert_eq!(judge(Interrupted::Cancelled), (Class::empty(), None));
    assert_eq!(judge(busy()), (Class::RATE_LIMIT, Some(7 * S)));
}

#[tokio::test(start_paused = true)]
async fn generic_type_around_an_error_without_classify_is_judged_by_its_chain() {
    #[derive(Debug, ThisError)]
    #[error("HTTP 503")]
    struct Other(#[source] io::Error);

    #[retry(attempts = 2, retry_on = [network])]
    async fn load(kind: io::ErrorKind, calls: &mut u32) -> Result<(), Store<Other>> {
        *calls += 1;
        Err(Store { cause: Other(kind.into()) })
    }
    for (kind, expected) in
        [(io::ErrorKind::ConnectionReset, 2), (io::ErrorKind::PermissionDenied, 1)]
    {
        let mut calls = 0;
        load(kind, &mut calls).await.unwrap_err();
        assert_eq!(calls, expected, "{kind}");
    }
}

/// An error of another crate.
mod queue {
    #[derive(Debug, thiserror::Error)]
    #[error("publishing failed: {0}")]
    pub(super) struct PublishError(pub(super) u8);
}

fn of_the_queue(error: &queue::PublishError) -> Option<Class> {
    (error.0 == 1).then_some(Class::RATE_LIMIT)
}

#[tokio::test(start_paused = true)]
async fn a_registered_rule_classifies_a_foreign_type() {
    classify::register(of_the_queue);
    #[retry(attempts = 2, retry_on = [rate_limit])]
    async fn publish(code: u8, calls: &mut u32) -> anyhow::Result<()> {
        *calls += 1;
        Err(queue::PublishError(code))?
    }
    for (code, expected) in [(1, 2), (2, 1)] {
        let mut calls = 0;
        publish(code, &mut calls).await.unwrap_err();
        assert_eq!(calls, expected, "{code}");
    }
    let retrier = Retrier::new(Policy::new().attempts(2)).retry_on([transient]);
    let error = retrier.run(async || Err::<(), _>(queue::PublishError(1))).await.unwrap_err();
    assert_eq!(error.attempts(), 2);
    assert_eq!(of_the_queue(&queue::PublishError(1)), Some(Class::RATE_LIMIT));
}

#[test]
fn a_registered_rule_classifies_the_field_of_a_derived_type() {
    #[derive(Debug, ThisError, Classify)]
    enum Failure {
        #[error(transparent)]
        Queue(#[from] queue::PublishError),
        #[error("no error: {0}")]
        #[classify(transparent)]
        Text(String),
    }
    classify::register(of_the_queue);
    assert_eq!(Failure::from(queue::PublishError(1)).class(), Class::RATE_LIMIT);
    assert_eq!(Failure::from(queue::PublishError(2)).class(), Class::empty());
    assert_eq!(Failure::Text("timed out".to_owned()).class(), Class::TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn the_option_speaks_for_the_type_that_the_function_returns() {
    struct Mute(u8);

    #[retry(attempts = 3, retry_on = [transient], abort_on = [conflict], classify = |error| match error {
        Mute(1) => Some(Class::SERVER_ERROR),
        Mute(2) => Some(Class::CONFLICT),
        _ => None,
    })]
    async fn ask(code: u8, calls: &mut u32) -> Result<(), Mute> {
        *calls += 1;
        Err(Mute(code))
    }
    #[retry(attempts = 3, retry_on = [transient], classify = of_the_queue)]
    async fn publish(code: u8, calls: &mut u32) -> Result<(), queue::PublishError> {
        *calls += 1;
        Err(queue::PublishError(code))
    }

    let retrier = Retrier::new(Policy::new())
        .retry_on([transient])
        .abort_on([conflict])
        .classify(of_the_queue);

    for (code, asked, published) in [(1, 3, 3), (2, 1, 1), (3, 1, 1)] {
        let mut calls = (0, 0);
        assert!(ask(code, &mut calls.0).await.is_err());
        publish(code, &mut calls.1).await.unwrap_err();
        assert_eq!(calls, (asked, published), "{code}");
        let failed = retrier.run(async || Err::<(), _>(queue::PublishError(code))).await;
        assert_eq!(failed.unwrap_err().attempts(), published, "{code}");
    }
}

#[test]
fn a_retrier_classifies_an_error_that_borrows() {
    #[derive(Debug)]
    struct Refused<'a>(&'a str);

    impl std::fmt::Display for Refused<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(self.0)
        }
    }

    let text = "connection refused".to_owned();
    let policy = Policy::new().initial_delay(Duration::from_millis(1));
    // The last one has the first say, and what says nothing leaves it to the others.
    let retrier = Retrier::new(policy)
        .retry_on([network])
        .opaque()
        .classify(|_: &Refused<'_>| Some(Class::NETWORK))
        .classify(|refused: &Refused<'_>| (refused.0 == "never").then(Class::empty));
    let failed = retrier.run_sync(|| Err::<(), _>(Refused(&text))).unwrap_err();
    assert_eq!(failed.attempts(), 3);
    let failed = retrier.run_sync(|| Err::<(), _>(Refused("never"))).unwrap_err();
    assert_eq!(failed.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn pattern_sees_the_body_behind_a_transparent_variant() {
    #[retry(attempts = 3, retry_on = [pattern("(?i)maintenance")])]
    async fn fetch(calls: &Calls) -> Result<(), FetchError> {
        calls.make();
        let error = StatusError::new(StatusCode::CONFLICT, None);
        Err(error.with_body("{\"reason\": \"Maintenance\"}").into())
    }
    let calls = Calls::new();
    fetch(&calls).await.unwrap_err();
    assert_eq!(calls.made(), 3);
}

#[test]
fn dead_letters_of_different_bodies_share_a_signature() {
    fn failure(id: u32) -> [Failure; 4] {
        let error = StatusError::new(StatusCode::BAD_GATEWAY, None);
        let error = error.with_body(format!("<p>request {id:x}f7 of Ada failed</p>"));
        let given_up =
            Retrier::new(Policy::new().attempts(1)).run_sync(|| Err::<(), _>(error.clone()));
        [
            Failure::from_error(&error),
            Failure::from_error(&FetchError::Http(error.clone())),
            Failure::from_error(&anyhow::Error::from(error.clone()).context("saving order 17")),
            Failure::from_error(&given_up.unwrap_err()),
        ]
    }
    for ((one, other), signature) in failure(1).into_iter().zip(failure(2)).zip([
        "<n> Bad Gateway",
        "<n> Bad Gateway",
        "saving order <n>: <n> Bad Gateway",
        "gave up after <n> attempt (all attempts were used): <n> Bad Gateway",
    ]) {
        assert_eq!(one.signature.as_str(), signature);
        assert_eq!(one.signature, other.signature);
        assert!(one.to_string().contains("request 1f7 of Ada failed"), "{one}");
    }
}
