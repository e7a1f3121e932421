//! The outcomes of a call that reports how it ended: each attempt fails with an [`AttemptError`],
//! and the call fails, once, with a [`RetryError`].

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::call::call_context::CallContext;
use crate::call::session::{Announced, Session};
use crate::outcome::Outcome;
use crate::outcome::ended::Ended;
use crate::outcome::error::{RetryError, SourceOf};
use crate::outcome::interrupted::{AttemptError, Interrupted};
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

/// Returns the result of a call that has given up, with the failures that it has kept. A value that
/// `ok(…)` treats as a failure stays a value.
///
/// # Errors
/// The end of the call, with the error of its last attempt.
pub fn ended<T, E>(
    outcome: AttemptResult<T, E>,
    ended: Ended,
    source_of: SourceOf<E>,
    history: Option<Vec<PastFailure>>,
) -> Result<T, RetryError<E>> {
    outcome.map_err(|error| gave_up(Some(error), ended, source_of, history))
}

/// The error with which the fallback of a call is called: its last `failure`, or else a value that
/// `ok(…)` treats as a failure.
pub fn gave_up<E>(
    failure: Option<AttemptError<E>>,
    ended: Ended,
    source_of: SourceOf<E>,
    history: Option<Vec<PastFailure>>,
) -> RetryError<E> {
    let error = failure.unwrap_or(AttemptError::VALUE);
    RetryError::of_call(error, ended, source_of).with_history(history.unwrap_or_default())
}

impl<K, T> Session<K, T> {
    /// The event to pass to `on_retry` of such a call, after an attempt that will be retried.
    pub fn event_of_attempt<'e, X, E>(
        &self,
        context: &CallContext<'e>,
        outcome: &'e AttemptResult<X, E>,
    ) -> Announced<'e, E> {
        self.event(
            context,
            outcome.as_ref().map_or_else(AttemptError::as_result, |_| Err(&Interrupted::Value)),
        )
    }

    /// The event to pass to `on_retry` of any other call.
    pub fn event_of<'e, R: Outcome>(
        &self,
        context: &CallContext<'e>,
        outcome: &'e R,
    ) -> Announced<'e, R::Error> {
        self.event(context, outcome.failure().err().ok_or(&Interrupted::Value))
    }
}

pin_project_lite::pin_project! {
    /// The future of an attempt of a call that reports how it ended.
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
