//! A breaker around a single call, without retries.

use core::fmt::Display;
use core::future::Future;

use super::{CircuitBreaker, Permit};
use crate::base::sealed::Seal;
use crate::outcome::SyncResult;
use crate::outcome::interrupted::Interrupted;

impl CircuitBreaker {
    /// Calls `f` if the breaker admits the call; an `Err` counts as a failure.
    ///
    /// ```
    /// use std::io;
    /// use retry_runtime::{BreakerConfig, CircuitBreaker};
    ///
    /// static DISK: CircuitBreaker = CircuitBreaker::new("disk", BreakerConfig::new());
    ///
    /// let read = DISK.call(|| Ok::<_, io::Error>(7));
    /// assert_eq!(read.unwrap(), 7);
    /// ```
    ///
    /// # Errors
    /// The error of `f`, or, if the call was not admitted, an [`Interrupted`] converted to `E`.
    pub fn call<T, E, R>(&self, f: impl FnOnce() -> R) -> R
    where
        R: SyncResult<Value = T, Error = E>, // async: `call_async(|| …).await`
        E: From<Interrupted> + Display,
    {
        let result = match self.try_acquire() {
            Ok(permit) => settled(permit, f().result(Seal)),
            Err(rejected) => Err(Interrupted::from(rejected).into()),
        };
        // Of the closure's own type: one of another type is reported once, and not for `.await` too.
        R::from(result)
    }

    /// Calls `f` and awaits its future if the breaker admits the call; an `Err` counts as a
    /// failure. A future dropped before it completes counts as neither, or as slow if it was.
    ///
    /// ```
    /// use std::io;
    /// use retry_runtime::{BreakerConfig, CircuitBreaker};
    ///
    /// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let rows = DB.call_async(async || Ok::<_, io::Error>(7)).await;
    /// assert_eq!(rows.unwrap(), 7);
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of `f`, or, if the call was not admitted, an [`Interrupted`] converted to `E`.
    pub async fn call_async<T, E, F>(&self, f: impl FnOnce() -> F) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>>, // not async: `call(|| …)`
        E: From<Interrupted> + Display,
    {
        let permit = self.try_acquire().map_err(Interrupted::from)?;
        settled(permit, f().await)
    }
}

/// Reports the outcome of a call.
fn settled<T, E: Display>(permit: Permit<'_>, result: Result<T, E>) -> Result<T, E> {
    match &result {
        Ok(_) => permit.success(),
        Err(error) => permit.failure_with(error),
    }
    result
}
