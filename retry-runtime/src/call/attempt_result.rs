//! The outcomes of a call that reports how it ended: each attempt fails with an [`AttemptError`],
//! and the call fails, once, with a [`RetryError`].

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::event::retry_event::Failure;
use crate::outcome::Outcome;
use crate::outcome::ended::Ended;
use crate::outcome::error::{RetryError, SourceOf};
use crate::outcome::interrupted::AttemptError;
use crate::outcome::past_failure::PastFailure;

/// The outcome of an attempt of such a call.
pub(crate) type AttemptResult<T, E> = Result<T, AttemptError<E>>;

/// The outcome of an attempt that was not cut off.
///
/// # Errors
/// The error of the attempt.
#[inline(always)]
pub fn attempt_result<T, E>(outcome: Result<T, E>) -> AttemptResult<T, E> {
    outcome.map_err(AttemptError::Error)
}

/// Returns the result of a call that has given up. A value that `ok(…)` treats as a failure stays a
/// value.
///
/// # Errors
/// The end of the call, with the error of its last attempt.
pub fn ended<T, E>(
    outcome: AttemptResult<T, E>,
    ended: Ended,
    source_of: SourceOf<E>,
) -> Result<T, RetryError<E>> {
    outcome.map_err(|error| RetryError::new(error, ended, source_of))
}

/// Adds the failures that a call has kept to the error with which it ended.
pub fn with_history<E>(error: RetryError<E>, history: Vec<PastFailure>) -> RetryError<E> {
    error.with_history(history)
}

/// The error that the call's fallback is called with.
pub fn attempt_gave_up<T, E>(
    outcome: AttemptResult<T, E>,
    ended: Ended,
    source_of: SourceOf<E>,
) -> RetryError<E> {
    RetryError::new(outcome.err().unwrap_or(AttemptError::VALUE), ended, source_of)
}

/// Returns the failure of an attempt of such a call, for events.
pub fn attempt_failure<T, E>(outcome: &AttemptResult<T, E>) -> Failure<'_, E> {
    match outcome {
        Ok(_) => Failure::Value,
        Err(AttemptError::Error(error)) => Failure::Error(error),
        Err(AttemptError::Interrupted(interrupted)) => Failure::Interrupted(interrupted),
    }
}

/// Returns the failure of an attempt of any other call, for events.
pub fn failure<R: Outcome>(outcome: &R) -> Failure<'_, R::Error> {
    outcome.failure().err().map_or(Failure::Value, Failure::Error)
}

pin_project_lite::pin_project! {
    /// The future of an attempt of a call that reports how it ended.
    #[derive(Debug)]
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct AttemptResultFuture<F> {
        #[pin]
        attempt: F,
    }
}

impl<F> AttemptResultFuture<F> {
    /// Wraps the body.
    #[inline(always)]
    pub fn new(attempt: F) -> Self {
        Self { attempt }
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Future for AttemptResultFuture<F> {
    type Output = AttemptResult<T, E>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().attempt.poll(cx).map(attempt_result)
    }
}
