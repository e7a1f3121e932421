//! The steps of a call whose attempts a service makes, of a retrier that needs nothing else.

use core::ops::ControlFlow;

use super::Retrier;
use super::decider::Decider;
use super::settings::FailedOutcome;
use super::values::{FailedValue, Values};
use crate::call::attempt_result::{AttemptResult, attempt_result};
use crate::call::hedge::report::HedgeReport;
use crate::call::last_failure::NoFailure;
use crate::call::session::Session;
use crate::outcome::error::{AttemptError, Ended, Reason, RetryError};

/// A call of a plain retrier. It keeps no failure during a wait, because nothing can end it then.
pub(crate) type PlainSession<T, E> = Session<NoFailure<AttemptResult<T, E>>>;

impl<D, V> Retrier<D, V> {
    /// Returns whether an attempt needs nothing but to be made: no breaker, quota, time limit or
    /// hedge.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.common.settings.is_plain
    }

    /// Returns what is wrong with a value, if it is retried.
    #[inline]
    pub(crate) fn failure_of<T>(&self, value: &T) -> Option<V::Failure>
    where
        V: Values<T>,
    {
        self.common.values.failure(value)
    }

    /// Ends a call, because an attempt has succeeded.
    #[inline]
    pub(crate) fn succeeded<T, E>(&self, call: PlainSession<T, E>) {
        call.succeeded(self.common.settings.origin(), None);
    }

    /// Returns the end of a call whose service failed its readiness check, and must not be called.
    pub(crate) fn never_called<E, Kind>(&self, error: E) -> RetryError<E>
    where
        D: Decider<E, Kind>,
    {
        let ended = Ended::without_attempt(Reason::NotRetryable, None);
        RetryError::new(AttemptError::Error(error), ended, self.decider.rules().source_of)
    }

    /// Handles an attempt that has failed with an error, or with a value and its `failure`. Breaks
    /// with the result of the call, or continues if a wait follows.
    pub(crate) fn failed<T, E, Kind>(
        &self,
        call: PlainSession<T, E>,
        outcome: Result<T, E>,
        failure: Option<&V::Failure>,
        can_repeat: bool,
    ) -> ControlFlow<Result<T, RetryError<E>>, PlainSession<T, E>>
    where
        D: Decider<E, Kind>,
        V: Values<T>,
    {
        let failed = FailedOutcome {
            outcome: attempt_result(outcome),
            value: failure.map(|failure| failure as &dyn FailedValue),
            attempt: None,
            can_repeat,
            may_hedge: true,
            report: &HedgeReport::new(),
            when: None,
            on_retry: None,
        };
        self.common.settings.decide(self.decider.rules(), call, None, failed)
    }
}
