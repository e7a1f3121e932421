//! `map_error`: what the caller gets in place of the last error.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Policy, Reason, RetryError, policy, retry, retrying,
};
use tokio::time::sleep;

use crate::support::{Calls, Failure, secs};

/// An error of another layer.
#[derive(Debug, PartialEq)]
enum AppError {
    Exhausted { attempts: u32, last: Failure },
    Refused(Reason),
    Forbidden(u64),
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

fn mapped(error: RetryError<Failure>) -> AppError {
    match (error.reason(), error.attempts()) {
        (Reason::Attempts, attempts) => {
            AppError::Exhausted { attempts, last: error.into_last().expect("it failed by itself") }
        }
        (reason, _) => AppError::Refused(reason),
    }
}

const THREE: Policy = policy!(attempts = 3);

#[tokio::test(start_paused = true)]
async fn the_body_has_an_error_of_its_own() {
    #[retry(policy = THREE, map_error = |error: RetryError<Failure>| mapped(error))]
    async fn fetch(calls: &Calls) -> Result<u32, AppError> {
        let call = calls.make();
        Err(Failure::Busy(call))?;
        Ok(call)
    }
    let calls = Calls::new();
    let last = Failure::Busy(3);
    assert_eq!(fetch(&calls).await, Err(AppError::Exhausted { attempts: 3, last }));
    assert_eq!(calls.made(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_success_is_returned_unchanged() {
    #[retry(map_error = |error: RetryError<Failure>| mapped(error))]
    async fn fetch(calls: &Calls) -> Result<u32, AppError> {
        match calls.make() {
            2 => Ok(7),
            call => Err(Failure::Busy(call)),
        }
    }
    assert_eq!(fetch(&Calls::new()).await, Ok(7));
}

#[tokio::test(start_paused = true)]
async fn it_sees_the_arguments_and_each_way_in_which_a_call_ends() {
    static DB: CircuitBreaker =
        CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(1));
    #[retry(
        breaker = DB,
        timeout = "1s",
        abort_on = [matches(Failure::Corrupt)],
        map_error = |error: RetryError<Failure>| match error.last() {
            Some(Failure::Corrupt) => AppError::Forbidden(id),
            _ => mapped(error),
        }
    )]
    async fn fetch(id: u64, hangs: bool) -> Result<u32, AppError> {
        if hangs {
            sleep(secs(60)).await;
        }
        Err(Failure::Corrupt)
    }
    assert_eq!(fetch(7, false).await, Err(AppError::Forbidden(7)), "not retryable");
    assert_eq!(fetch(7, true).await, Err(AppError::Refused(Reason::CircuitOpen)));
    assert_eq!(fetch(7, true).await, Err(AppError::Refused(Reason::CircuitOpen)), "at once");
}

#[tokio::test(start_paused = true)]
async fn map_error_of_equal_types_is_a_path_or_a_closure() {
    fn described(error: RetryError<String>) -> String {
        format!("after {} attempts: {}", error.attempts(), error.into_last().unwrap_or_default())
    }
    #[retry(map_error = described)]
    async fn by_path() -> Result<u32, String> {
        Err("down".to_owned())
    }
    #[retry(map_error = |error: RetryError<String>| described(error).replace("down", "gone"))]
    async fn by_closure() -> Result<u32, String> {
        Err("down".to_owned())
    }
    #[retry(initial_delay = "1ms", map_error = described)]
    fn without_async() -> Result<u32, String> {
        Err("down".to_owned())
    }
    for outcome in [by_path().await, without_async()] {
        assert_eq!(outcome.unwrap_err(), "after 3 attempts: down");
    }
    assert_eq!(by_closure().await.unwrap_err(), "after 3 attempts: gone");
}

type Result1<T> = std::result::Result<T, AppError>;

mod alias {
    pub(super) type Result<T> = std::result::Result<T, super::AppError>;
}

#[tokio::test(start_paused = true)]
async fn an_alias_of_result_and_a_method_of_a_trait_work() {
    trait Fetches {
        async fn fetch(&mut self, by: &str) -> alias::Result<u32>;
    }

    struct Client(Calls);

    impl Fetches for Client {
        #[retry(attempts = 2, map_error = |error: RetryError<Failure>| mapped(error))]
        async fn fetch(&mut self, by: &str) -> alias::Result<u32> {
            let _ = by;
            Err(Failure::Busy(self.0.make()))
        }
    }

    let last = Failure::Busy(2);
    let failed: Result1<u32> = Client(Calls::new()).fetch("it").await;
    assert_eq!(failed, Err(AppError::Exhausted { attempts: 2, last }));
}

#[tokio::test(start_paused = true)]
async fn map_error_applies_to_boxed_futures() {
    type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

    #[retry(attempts = 2, map_error = |error: RetryError<Failure>| mapped(error))]
    fn boxed(calls: Arc<Calls>) -> Pin<Box<dyn Future<Output = Result<u32, AppError>> + Send>> {
        Box::pin(async move {
            Err(Failure::Busy(calls.make()))?;
            Ok(1)
        })
    }

    #[async_trait::async_trait]
    trait Fetches {
        async fn fetch(&self, id: u64) -> Result<u32, AppError>;
    }

    #[async_trait::async_trait]
    impl Fetches for Calls {
        #[retry(attempts = 2, map_error = |error: RetryError<Failure>| match error.attempts() {
            2 => AppError::Forbidden(id),
            _ => mapped(error),
        })]
        async fn fetch(&self, id: u64) -> Result<u32, AppError> {
            Err(Failure::Busy(self.make()))
        }
    }

    let future: Boxed<_> = boxed(Arc::new(Calls::new()));
    let last = Failure::Busy(2);
    assert_eq!(future.await, Err(AppError::Exhausted { attempts: 2, last }));
    assert_eq!(Calls::new().fetch(7).await, Err(AppError::Forbidden(7)));
}

#[tokio::test(start_paused = true)]
async fn a_variant_that_keeps_the_whole_story_is_a_function_of_it() {
    #[derive(Debug)]
    enum Outer {
        Exhausted(RetryError<Failure>),
    }
    #[retry(attempts = 2, map_error = |error: RetryError<Failure>| Outer::Exhausted(error))]
    async fn by_closure(calls: &Calls) -> Result<u32, Outer> {
        Err(Failure::Busy(calls.make()))
    }
    let Outer::Exhausted(error) = by_closure(&Calls::new()).await.unwrap_err();
    assert_eq!((error.attempts(), error.last()), (2, Some(&Failure::Busy(2))));
}

#[tokio::test(start_paused = true)]
async fn map_error_accepts_a_path_to_a_function() {
    #[derive(Debug)]
    enum Nested {
        Down,
        Exhausted(Box<RetryError<Nested>>),
    }
    impl From<RetryError<Nested>> for Nested {
        fn from(error: RetryError<Nested>) -> Self {
            Self::Exhausted(Box::new(error))
        }
    }
    #[retry(attempts = 2, map_error = Nested::from)]
    async fn by_path() -> Result<u32, Nested> {
        Err(Nested::Down)
    }
    let Nested::Exhausted(error) = by_path().await.unwrap_err() else {
        panic!("it was not mapped")
    };
    assert!(matches!(error.last(), Some(Nested::Down)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn map_error_applies_in_a_block() {
    let calls = Calls::new();
    let outcome = retrying!(
        name = "map_error.block",
        attempts = 2,
        map_error = |error: RetryError<Failure>| mapped(error),
        async || -> Result<u32, AppError> {
            Err(Failure::Busy(calls.make()))?;
            Ok(1)
        }
    );
    let last = Failure::Busy(2);
    assert_eq!(outcome.await, Err(AppError::Exhausted { attempts: 2, last }));
}

#[tokio::test(start_paused = true)]
async fn an_error_that_cannot_hold_an_interruption_needs_not_to() {
    #[derive(Debug)]
    struct Plain;

    impl fmt::Display for Plain {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("plain")
        }
    }

    impl std::error::Error for Plain {}

    #[retry(attempts = 1, timeout = "1s", map_error = |error: RetryError<Plain>| error.last().is_some())]
    async fn fetch() -> Result<u32, bool> {
        sleep(secs(60)).await;
        Err(Plain)
    }
    assert_eq!(fetch().await, Err(false), "it was cut off, so there is no error of its own");
}

#[tokio::test(start_paused = true)]
async fn map_error_applies_to_a_method_of_an_async_trait() {
    #[async_trait::async_trait]
    trait Loads: Send + Sync {
        async fn load(&self, key: &str) -> Result<u32, AppError>;
    }

    struct Store(Calls);

    #[async_trait::async_trait]
    impl Loads for Store {
        #[retry(attempts = 2, map_error = |error: RetryError<Failure>| mapped(error))]
        async fn load(&self, key: &str) -> Result<u32, AppError> {
            if key.is_empty() {
                return Ok(7);
            }
            Err(Failure::Busy(self.0.make()))?
        }
    }

    let store: Box<dyn Loads> = Box::new(Store(Calls::new()));
    assert_eq!(store.load("").await, Ok(7));
    let last = Failure::Busy(2);
    assert_eq!(store.load("it").await, Err(AppError::Exhausted { attempts: 2, last }));
}
