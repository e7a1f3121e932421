//! The calls of a retrier whose attempts a service makes.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use super::Retrier;
use super::attempts::{CallState, Calls};
use super::decider::Decider;
use super::operation::Operation;
use super::settings::RetrierSettings;
use super::values::Values;
use crate::outcome::ended::{Ended, Reason};
use crate::outcome::error::RetryError;
use crate::outcome::interrupted::AttemptError;

/// Calls without closures of their own.
type ServiceCalls<'p, 'r, Op, E, V> = Calls<'p, 'r, Op, E, V, fn(&E) -> bool, ()>;

impl<D, V> Retrier<D, V> {
    /// Returns whether an attempt needs nothing but to be made: no breaker, quota, time limit or
    /// hedge.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.common.settings.is_plain()
    }

    /// Returns the end of a call whose service failed its readiness check, and must not be called.
    pub(crate) fn never_called<E, Kind>(&self, error: E) -> RetryError<E>
    where
        D: Decider<E, Kind>,
    {
        let ended = Ended::without_attempt(Reason::NotRetryable, None);
        RetryError::new(AttemptError::Error(error), ended, self.decider.rules().source_of)
    }

    /// Polls a call of a plain retrier, which lends it nothing.
    #[inline]
    pub(crate) fn poll_plain<T, E, Kind, Fut: Future, Op: Operation<Fut, T, E>>(
        &self,
        call: Pin<&mut CallState<'static, T, E, Fut>>,
        operation: &mut Op,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RetryError<E>>>
    where
        D: Decider<E, Kind>,
        V: Values<T>,
    {
        call.poll(self.calls(None, operation), cx)
    }

    /// Polls a call.
    #[inline]
    pub(crate) fn poll_guarded<'r, T, E, Kind, Fut: Future, Op: Operation<Fut, T, E>>(
        &'r self,
        call: Pin<&mut CallState<'r, T, E, Fut>>,
        operation: &mut Op,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RetryError<E>>>
    where
        D: Decider<E, Kind>,
        V: Values<T>,
    {
        call.poll(self.calls(Some(&self.common.settings), operation), cx)
    }

    #[inline(always)]
    fn calls<'p, 'r, E, Kind, Op>(
        &'p self,
        lent: Option<&'r RetrierSettings>,
        operation: &'p mut Op,
    ) -> ServiceCalls<'p, 'r, Op, E, V>
    where
        D: Decider<E, Kind>,
    {
        let (common, rules) = (&self.common, self.decider.rules());
        Calls { common, lent, rules, operation, when: None, on_retry: None }
    }
}
