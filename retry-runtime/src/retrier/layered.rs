//! The calls of a retrier whose attempts a service makes.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, ready};

use super::Retrier;
use super::attempts::{CallParts, CallState};
use super::decider::Decider;
use super::operation::Operation;
use super::settings::RetrierSettings;
use super::values::Values;
use crate::outcome::ended::{Ended, Reason};
use crate::outcome::error::RetryError;
use crate::outcome::interrupted::AttemptError;

impl<D, V> Retrier<D, V> {
    /// Returns whether an attempt needs nothing but to be made: no breaker, quota, time limit or
    /// hedge.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.common.settings.is_plain
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
        operation: Op,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RetryError<E>>>
    where
        D: Decider<E, Kind>,
        V: Values<T>,
    {
        self.poll_lent(call, operation, None, cx)
    }

    /// Polls a call.
    #[inline]
    pub(crate) fn poll_guarded<'r, T, E, Kind, Fut: Future, Op: Operation<Fut, T, E>>(
        &'r self,
        call: Pin<&mut CallState<'r, T, E, Fut>>,
        operation: Op,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RetryError<E>>>
    where
        D: Decider<E, Kind>,
        V: Values<T>,
    {
        self.poll_lent(call, operation, Some(&self.common.settings), cx)
    }

    #[inline(always)]
    fn poll_lent<'r, T, E, Kind, Fut: Future, Op: Operation<Fut, T, E>>(
        &self,
        mut call: Pin<&mut CallState<'r, T, E, Fut>>,
        mut operation: Op,
        lent: Option<&'r RetrierSettings>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RetryError<E>>>
    where
        D: Decider<E, Kind>,
        V: Values<T>,
    {
        let common = &self.common;
        match ready!(call.as_mut().poll_first(common, &mut operation, lent, cx)) {
            Ok(value) => Poll::Ready(Ok(value)),
            Err(first) => {
                let rules = self.decider.rules();
                let when = None::<fn(&E) -> bool>;
                let mut parts = CallParts { common, rules, operation, when, on_retry: () };
                call.drive(&mut parts, lent, Some(cx), first)
            }
        }
    }
}
