//! What a retrier's matchers say of a call's failures, responses among them.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use super::responses::ResponseFailure;
use crate::event::retry_event::{Failure, RetryEvent};
use crate::outcome::error::Interrupted;
use crate::retrier::decider::{Decider, MatchOutcome};

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
pub(super) struct Matching<M, R> {
    pub(super) matchers: Arc<M>,
    pub(super) responses: Arc<R>,
}

impl<M, R> Clone for Matching<M, R> {
    fn clone(&self) -> Self {
        let Self { matchers, responses } = self;
        Self { matchers: Arc::clone(matchers), responses: Arc::clone(responses) }
    }
}

impl<M: fmt::Debug, R> fmt::Debug for Matching<M, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.matchers.fmt(f)
    }
}

/// What judges the failures of one call.
pub(super) struct CallMatching<M, R> {
    matching: Matching<M, R>,
    // Set by the attempt that runs, and read after it; the task is the same.
    spent: AtomicBool,
}

impl<M, R> CallMatching<M, R> {
    pub(super) fn new(matching: Matching<M, R>) -> Self {
        Self { matching, spent: AtomicBool::new(false) }
    }

    pub(super) fn responses(&self) -> &R {
        &self.matching.responses
    }

    /// The request cannot be sent again, though the policy would.
    pub(super) fn spend(&self) {
        self.spent.store(true, Ordering::Relaxed);
    }

    fn unless_spent(&self, matched: MatchOutcome) -> MatchOutcome {
        MatchOutcome { retry: matched.retry && !self.spent.load(Ordering::Relaxed), ..matched }
    }
}

impl<T, X, E, Kind, M, R> Decider<Failed<T, X, E>, Kind> for CallMatching<M, R>
where
    M: Decider<E, Kind>,
    X: ResponseFailure,
{
    fn decide(&self, failed: &Failed<T, X, E>) -> MatchOutcome {
        let matchers = &*self.matching.matchers;
        self.unless_spent(match failed {
            Failed::Call(error) => matchers.decide(error),
            Failed::NotReady(error) => MatchOutcome { retry: false, ..matchers.decide(error) },
            Failed::Response { failure, .. } => failure.matched(matchers),
        })
    }

    fn decide_interrupted(&self, interrupted: &Interrupted) -> MatchOutcome {
        self.unless_spent(self.matching.matchers.decide_interrupted(interrupted))
    }

    fn on_retry(&self, event: &RetryEvent<'_, Failed<T, X, E>>) {
        let &RetryEvent { name, attempt, attempts, failure, wait, waited } = event;
        let failure = match failure {
            Failure::Error(failed) => failed.failure(),
            Failure::Interrupted(interrupted) => Failure::Interrupted(interrupted),
            Failure::Value => Failure::Value,
        };
        let event = RetryEvent { name, attempt, attempts, failure, wait, waited };
        self.matching.matchers.on_retry(&event);
    }
}
