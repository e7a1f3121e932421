//! The outcomes of a function that returns `Result<T, RetryError<E>>`: how its
//! attempts fail, and how its call ends.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::event::retry_event::Failure;
use crate::outcome::Outcome;
use crate::outcome::error::{Ended, Interrupted, RetryError};

/// The outcome of an attempt of a function that returns `RetryError<E>`.
#[inline(always)]
pub fn tracked<T, E>(outcome: Result<T, E>) -> Result<T, RetryError<E>> {
    outcome.map_err(RetryError::of_attempt)
}

/// The end of such a call.
pub fn ended<T, E>(outcome: Result<T, RetryError<E>>, ended: Ended) -> Result<T, RetryError<E>> {
    outcome.map_err(|error| error.ended(ended))
}

/// What such a call's fallback is called with.
pub fn inner_error<T, E>(outcome: Result<T, RetryError<E>>, ended: Ended) -> RetryError<E> {
    match outcome {
        Ok(_) => RetryError::of_value(ended),
        Err(error) => error.ended(ended),
    }
}

/// The error of such an attempt, or what cut it off.
pub fn cause<E>(error: &RetryError<E>) -> Result<&E, &Interrupted> {
    error.cause()
}

/// How an attempt failed, for events.
pub fn failure<R: Outcome>(outcome: &R) -> Failure<'_, R::Error> {
    outcome.failure().err().map_or(Failure::Value, Failure::Error)
}

/// The same for a function that returns `RetryError<E>`.
pub fn inner_failure<T, E>(outcome: &Result<T, RetryError<E>>) -> Failure<'_, E> {
    match outcome.as_ref().map_err(RetryError::cause) {
        Ok(_) => Failure::Value,
        Err(Ok(error)) => Failure::Error(error),
        Err(Err(interrupted)) => Failure::Interrupted(*interrupted),
    }
}

pin_project_lite::pin_project! {
    /// The future of an attempt of such a function.
    #[derive(Debug)]
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct Tracked<F> {
        #[pin]
        attempt: F,
    }
}

impl<F> Tracked<F> {
    /// Around the body.
    #[inline(always)]
    pub fn new(attempt: F) -> Self {
        Self { attempt }
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Future for Tracked<F> {
    type Output = Result<T, RetryError<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().attempt.poll(cx).map(tracked)
    }
}
