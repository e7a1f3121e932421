//! Calls of closures that are not async, during whose waits the thread sleeps. A page of a browser
//! cannot: there, a call ends in place of a wait.

use core::future::{Ready, ready};
use core::pin::pin;
use core::task::Poll;
use std::sync::Arc;

use super::{Parts, Run};
use crate::base::sealed::Seal;
use crate::call::attempt::Attempt;
use crate::call::hedge::running::Running;
use crate::outcome::SyncResult;
use crate::outcome::error::RetryError;
use crate::retrier::Retrier;
use crate::retrier::attempts::{DrivenCall, Judge, OperationSlots};
use crate::retrier::decider::Decider;
use crate::retrier::listener::Listener;
use crate::retrier::operation::{Operation, WithContext};
use crate::retrier::values::Values;

/// Stands for the future of an attempt in a blocking call, which has none. The name is part of the
/// compiler's messages about a call without [`.call()`](Run::call).
#[derive(Clone, Copy, Debug)]
pub enum NeedsCall {}

impl<D, V> Retrier<D, V> {
    /// Calls `operation` until it succeeds or the policy ends the call, for a closure that is not
    /// async. The thread sleeps during waits; the policy's `timeout` cannot cut an attempt off, and
    /// is ignored: [`Warning::TimeoutNotObeyed`](crate::Warning) reports that at the first failure,
    /// once per name. In a [browser](crate#in-a-browser), no wait above zero is possible.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new());
    /// assert_eq!(retrier.run_sync(|| "7".parse::<u32>()).unwrap(), 7);
    /// ```
    ///
    /// # Errors
    /// The call was given up: why, after how many attempts, and the last error.
    pub fn run_sync<T, E, Kind, R>(&self, operation: impl FnMut() -> R) -> Result<T, RetryError<E>>
    where
        R: SyncResult<Value = T, Error = E>, // async: `run(|| …).await`
        D: Decider<E, Kind>,
        V: Values<T>,
    {
        self.blocking(operation).call()
    }

    /// Prepares a call of a closure that is not async, so that settings for this call alone can be
    /// added; [`Run::call`] makes it. [`run_sync`](Self::run_sync) does both.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new());
    /// let error = retrier.blocking(|| "seven".parse::<u32>()).when(|_| false).call();
    /// assert_eq!(error.unwrap_err().attempts(), 1);
    /// ```
    pub fn blocking<T, E, Kind, Op, R>(
        &self,
        mut operation: Op,
    ) -> Run<'_, impl FnMut() -> Ready<Result<T, E>>, NeedsCall, T, E, V>
    where
        R: SyncResult<Value = T, Error = E>, // async: `run(|| …).await`
        D: Decider<E, Kind>,
        V: Values<T>,
        Op: FnMut() -> R,
    {
        self.prepare(move || ready(operation().result(Seal)))
    }

    /// Prepares a call as [`blocking`](Self::blocking) does, of a closure that takes the current
    /// attempt: see [`run_cx`](Self::run_cx).
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new());
    /// let call = retrier.blocking_cx(|cx| {
    ///     cx.give_up();
    ///     "seven".parse::<u32>()
    /// });
    /// assert_eq!(call.call().unwrap_err().attempts(), 1);
    /// ```
    #[expect(clippy::type_complexity, reason = "the parameters of the builder, in no other place")]
    pub fn blocking_cx<T, E, Kind, Op, R>(
        &self,
        mut operation: Op,
    ) -> Run<'_, WithContext<impl FnMut(Arc<Attempt>) -> Ready<Result<T, E>>>, NeedsCall, T, E, V>
    where
        R: SyncResult<Value = T, Error = E>, // async: `run_cx(|cx| …).await`
        D: Decider<E, Kind>,
        V: Values<T>,
        Op: FnMut(Arc<Attempt>) -> R,
    {
        self.prepare(WithContext::new(move |cx| ready(operation(cx).result(Seal))))
    }
}

impl<Op, T, E, V, W, L> Run<'_, Op, NeedsCall, T, E, V, W, L>
where
    V: Values<T>,
    W: FnMut(&E) -> bool,
    L: Listener<E>,
{
    /// Calls the operation until it succeeds or the policy ends the call. The thread sleeps during
    /// waits; the policy's `timeout` cannot cut an attempt off, and is ignored:
    /// [`Warning::TimeoutNotObeyed`](crate::Warning) reports that at the first failure, once per
    /// name.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new());
    /// assert_eq!(retrier.blocking(|| "7".parse::<u32>()).call().unwrap(), 7);
    /// ```
    ///
    /// # Errors
    /// The call was given up: why, after how many attempts, and the last error.
    #[inline]
    pub fn call(self) -> Result<T, RetryError<E>>
    where
        Op: Operation<Ready<Result<T, E>>, T, E>,
    {
        let Parts { common, rules, mut operation, mut when, mut on_retry } = self.parts;
        let settings = &common.settings;
        // If it panics, its permit is dropped during the panic, which counts as a failure.
        let (mut permit, mut failed) = (None, None);
        if let Ok(own) = settings.admit(on_retry.resumed(Seal).is_some()) {
            permit = own;
            let begun = operation.begin(1, || settings.first_attempt(), Seal);
            let Some(attempt) = begun else { unreachable!("an attempt that blocks has begun") };
            match common.succeeded(attempt.into_inner(), &mut permit) {
                Ok(value) => return Ok(value),
                Err(first) => failed = Some(first),
            }
        }
        let judge = Judge::new(common, rules, &mut when, &mut on_retry, None);
        let (operation, first, hedges) = (&mut operation, pin!(None), &mut Running::none());
        let slots = &mut OperationSlots { operation, first, hedges };
        match DrivenCall::poll(&mut None, slots, judge, settings, None, failed, permit) {
            Poll::Ready(end) => end,
            Poll::Pending => unreachable!("the thread sleeps during waits"),
        }
    }
}
