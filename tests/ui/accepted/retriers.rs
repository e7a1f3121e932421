//! Operations of a `Retrier`, whose types the compiler infers.
#![deny(warnings)]
#![deny(clippy::pedantic)]
#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::pin::Pin;

use retry_runtime::{Policy, Retrier, RetryError};

async fn of_a_generic_function<Op, Fut, T, E>(operation: Op) -> Result<T, RetryError<E>>
where
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
    E: Error + 'static,
{
    Retrier::new(Policy::new()).run(operation).await
}

async fn of_an_async_closure<T, E: Error + 'static>(
    operation: impl AsyncFn() -> Result<T, E>,
) -> Result<T, RetryError<E>> {
    Retrier::new(Policy::new()).run(|| operation()).await
}

async fn whose_error_follows_from_a_predicate(id: u32) -> Result<u32, RetryError<String>> {
    let retrier = Retrier::new(Policy::new());
    retrier
        .run(|| async {
            if id == 0 {
                return Err("none".to_string());
            }
            Ok(id)
        })
        .when(|error| error.len() > 4)
        .await
}

async fn of_a_boxed_future() -> Result<u32, RetryError<io::Error>> {
    fn boxed<'a>() -> Pin<Box<dyn Future<Output = io::Result<u32>> + Send + 'a>> {
        Box::pin(async { Ok(7) })
    }
    Retrier::new(Policy::new()).run(boxed).await
}

async fn whose_value_is_a_trait_object() -> Result<Box<dyn Debug>, RetryError<io::Error>> {
    let retrier = Retrier::new(Policy::new());
    retrier.run(|| async { Ok(Box::new(7) as Box<dyn Debug>) }).await
}

#[tokio::test]
async fn operations_are_inferred() {
    assert_eq!(of_a_generic_function(|| async { Ok::<_, io::Error>(7) }).await.unwrap(), 7);
    assert_eq!(of_an_async_closure(async || Ok::<_, io::Error>(7)).await.unwrap(), 7);
    assert_eq!(whose_error_follows_from_a_predicate(7).await.unwrap(), 7);
    assert_eq!(of_a_boxed_future().await.unwrap(), 7);
    assert_eq!(format!("{:?}", whose_value_is_a_trait_object().await.unwrap()), "7");
}
