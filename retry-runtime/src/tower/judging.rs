//! What a retrier's matchers say of a call's failures, responses among them.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use super::responses::ResponseFailure;
use crate::error::Interrupted;
use crate::retrier::{Judged, Judges};
use crate::retry_event::{Failure, RetryEvent};

/// How an attempt failed, as the retrier sees it.
pub(super) enum Failed<T, X, E> {
    /// The service answered with an error.
    Call(E),
    /// The service answered with a response that is a failure.
    Response { response: T, failure: X },
    /// The service is not to be used any more.
    NotReady(E),
}

impl<T, X, E> Failed<T, X, E> {
    /// The error; or the response, which is none.
    pub(super) fn into_error(self) -> Result<E, T> {
        match self {
            Self::Call(error) | Self::NotReady(error) => Ok(error),
            Self::Response { response, .. } => Err(response),
        }
    }

    fn failure(&self) -> Failure<'_, E> {
        match self {
            Self::Call(error) | Self::NotReady(error) => Failure::Error(error),
            Self::Response { .. } => Failure::Value,
        }
    }
}

impl<T, X: fmt::Display, E: fmt::Display> fmt::Display for Failed<T, X, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) | Self::NotReady(error) => error.fmt(f),
            Self::Response { failure, .. } => failure.fmt(f),
        }
    }
}

/// A retrier's matchers, and which responses are failures.
pub(super) struct Judging<M, R> {
    pub(super) matchers: Arc<M>,
    pub(super) responses: Arc<R>,
}

impl<M, R> Clone for Judging<M, R> {
    fn clone(&self) -> Self {
        let Self { matchers, responses } = self;
        Self { matchers: Arc::clone(matchers), responses: Arc::clone(responses) }
    }
}

impl<M: fmt::Debug, R> fmt::Debug for Judging<M, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.matchers.fmt(f)
    }
}

/// What judges the failures of one call.
pub(super) struct CallJudge<M, R> {
    judging: Judging<M, R>,
    // Set by the attempt that runs, and read after it; the task is the same.
    spent: AtomicBool,
}

impl<M, R> CallJudge<M, R> {
    pub(super) fn new(judging: Judging<M, R>) -> Self {
        Self { judging, spent: AtomicBool::new(false) }
    }

    pub(super) fn responses(&self) -> &R {
        &self.judging.responses
    }

    /// The request cannot be sent again, though the policy would.
    pub(super) fn spend(&self) {
        self.spent.store(true, Ordering::Relaxed);
    }

    fn unless_spent(&self, judged: Judged) -> Judged {
        Judged { retry: judged.retry && !self.spent.load(Ordering::Relaxed), ..judged }
    }
}

impl<T, X, E, Kind, M, R> Judges<Failed<T, X, E>, Kind> for CallJudge<M, R>
where
    M: Judges<E, Kind>,
    X: ResponseFailure,
{
    fn judge(&self, failed: &Failed<T, X, E>) -> Judged {
        let matchers = &*self.judging.matchers;
        self.unless_spent(match failed {
            Failed::Call(error) => matchers.judge(error),
            Failed::NotReady(error) => Judged { retry: false, ..matchers.judge(error) },
            Failed::Response { failure, .. } => failure.judged(matchers),
        })
    }

    fn judge_interrupted(&self, interrupted: Interrupted) -> Judged {
        self.unless_spent(self.judging.matchers.judge_interrupted(interrupted))
    }

    fn on_retry(&self, event: &RetryEvent<'_, Failed<T, X, E>>) {
        let &RetryEvent { name, attempt, attempts, failure, wait, waited } = event;
        let failure = match failure {
            Failure::Error(failed) => failed.failure(),
            Failure::Interrupted(interrupted) => Failure::Interrupted(interrupted),
            Failure::Value => Failure::Value,
        };
        let event = RetryEvent { name, attempt, attempts, failure, wait, waited };
        self.judging.matchers.on_retry(&event);
    }
}
