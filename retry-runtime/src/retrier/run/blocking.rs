//! Calls of closures that are not async, during whose waits the thread sleeps. A page of a browser
//! may not.

use core::ops::ControlFlow;

use super::Run;
use crate::base::sealed::Seal;
use crate::call::call_context::Timing;
use crate::call::hedge::report::HedgeReport;
use crate::event::warning::Warning;
use crate::observe;
use crate::outcome::SyncResult;
use crate::outcome::error::{AttemptError, RetryError};
use crate::retrier::Retrier;
use crate::retrier::decider::Decider;
use crate::retrier::listener::Listener;
use crate::retrier::settings::{FailedOutcome, RunSession};
use crate::retrier::values::{FailedValue, Values};

/// Stands for the future of an attempt in a blocking call, which has none. The name is part of the
/// compiler's messages about a call without [`.call()`](Run::call).
#[derive(Clone, Copy, Debug)]
pub enum NeedsCall {}

impl<D, V> Retrier<D, V> {
    /// Calls `operation` until it succeeds or the policy ends the call, for a closure that is not
    /// async. The thread sleeps during waits; the policy's `timeout` cannot cut an attempt off, and
    /// is ignored: [`Warning::TimeoutNotObeyed`](crate::Warning) reports that at the first failure, once
    /// per name.
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
    pub fn blocking<T, E, Kind, Op, R>(&self, operation: Op) -> Run<'_, Op, NeedsCall, T, E, V>
    where
        R: SyncResult<Value = T, Error = E>, // async: `run(|| …).await`
        D: Decider<E, Kind>,
        V: Values<T>,
        Op: FnMut() -> R,
    {
        self.prepare(operation)
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
    /// [`Warning::TimeoutNotObeyed`](crate::Warning) reports that at the first failure, once per name.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new());
    /// assert_eq!(retrier.blocking(|| "7".parse::<u32>()).call().unwrap(), 7);
    /// ```
    ///
    /// # Errors
    /// The call was given up: why, after how many attempts, and the last error.
    pub fn call<R>(self) -> Result<T, RetryError<E>>
    where
        Op: FnMut() -> R,
        R: SyncResult<Value = T, Error = E>,
    {
        let Self { mut parts, .. } = self;
        let settings = &parts.common.settings;
        let mut call = RunSession::timed(Timing::of(&settings.policy));
        loop {
            let permit = match settings.admit(parts.rules, &mut call) {
                Ok(permit) => permit,
                Err(Some(end)) => return end,
                Err(None) => {
                    call.wait_blocking(settings.origin(), settings.context().breaker);
                    call.end_wait();
                    continue;
                }
            };
            let (outcome, value) = match (parts.operation)().result(Seal) {
                Ok(value) => match parts.common.values.failure(&value) {
                    None => {
                        settings.succeeded(call, permit);
                        return Ok(value);
                    }
                    failure => (Ok(value), failure),
                },
                Err(error) => (Err(AttemptError::Error(error)), None),
            };
            if let Some(timeout) = settings.policy.get_timeout() {
                let name = settings.origin().name;
                observe::warn_once(Warning::TimeoutNotObeyed { name, timeout });
            }
            let value = value.as_ref().map(|value| value as &dyn FailedValue);
            let failed = FailedOutcome {
                outcome,
                value,
                attempt: None,
                can_repeat: true,
                may_hedge: false,
                report: &HedgeReport::new(),
                when: parts.when.as_mut().map(|when| when as _),
                on_retry: parts.on_retry.as_mut().map(|listener| listener as _),
            };
            let next = settings.failed(parts.rules, &mut call, permit, failed);
            if let ControlFlow::Break(end) = next {
                return end;
            }
            call.wait_blocking(settings.origin(), None);
            call.end_wait();
        }
    }
}
