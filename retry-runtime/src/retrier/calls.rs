//! The calls of a retrier.

use core::future::Future;
use std::sync::Arc;

use super::Retrier;
#[cfg(feature = "tower")]
use super::attempts::Judge;
use super::decider::Decider;
use super::operation::{WithContext, WithState};
use super::run::Run;
use super::run::attempt_future::AttemptFuture;
#[cfg(feature = "tower")]
use super::settings::RetrierSettings;
use super::values::Values;
use crate::base::sealed::Seal;
use crate::call::attempt::Attempt;
#[cfg(feature = "tower")]
use crate::outcome::ended::{Ended, Reason};
#[cfg(feature = "tower")]
use crate::outcome::error::RetryError;
#[cfg(feature = "tower")]
use crate::outcome::interrupted::AttemptError;

impl<D, V> Retrier<D, V> {
    /// Calls `operation` until it succeeds or the policy ends the call. Await the result, after
    /// adding settings for this call alone if needed.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let retrier = Retrier::new(Policy::new());
    /// let seven = retrier.run(|| async { "7".parse::<u32>() }).await;
    /// assert_eq!(seven.unwrap(), 7);
    ///
    /// let error = retrier.run(|| async { "seven".parse::<u32>() }).when(|_| false).await;
    /// assert_eq!(error.unwrap_err().attempts(), 1);
    /// # }
    /// ```
    ///
    /// # Errors
    /// The call was given up: why, after how many attempts, and the last error.
    pub fn run<T, E, Kind, Op, Fut, FutKind>(
        &self,
        operation: Op,
    ) -> Run<'_, Fut::Operation, Fut::Attempt, T, E, V>
    where
        D: Decider<E, Kind>,
        V: Values<T>,
        // rustc quotes these lines, with their comments, if an operation is not as they say.
        Op: FnMut() -> Fut, // for each attempt, `|| send(&url, body.clone())`; one that changes a variable: `run_with`
        Fut: AttemptFuture<Op, T, E, Result<T, E>, FutKind>, // `async { get(7).await }`; not async: `run_sync(|| …)`
    {
        Fut::call(self.prepare(operation), Seal)
    }

    /// Calls `operation` like [`run`](Self::run), with the current attempt. It may itself decide what
    /// happens to its failure: [`Attempt::give_up`], [`Attempt::retry_after`]. A hedge gets the
    /// context of the attempt that it joins.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let retrier = Retrier::new(Policy::new());
    /// let number = retrier
    ///     .run_cx(async |cx| if cx.is_last() { Ok(cx.number()) } else { Err("not yet") })
    ///     .await;
    /// assert_eq!(number, Ok(3));
    /// # }
    /// ```
    ///
    /// # Errors
    /// The call was given up: why, after how many attempts, and the last error.
    pub fn run_cx<T, E, Kind, Op, Fut>(
        &self,
        operation: Op,
    ) -> Run<'_, WithContext<Op>, Fut, T, E, V>
    where
        D: Decider<E, Kind>,
        V: Values<T>,
        Op: FnMut(Arc<Attempt>) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        self.prepare(WithContext::new(operation))
    }

    /// Calls `operation` like [`run_cx`](Self::run_cx), with state that it takes by value and returns
    /// with its result: a connection, a cursor, a buffer.
    ///
    /// The state is returned at the end, unless a `timeout` or a `deadline` cut an attempt off:
    /// then it is lost, and the call ends.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let retrier = Retrier::new(Policy::new());
    /// let (log, result) = retrier
    ///     .run_with(Vec::new(), |mut log, cx| async move {
    ///         log.push(cx.number());
    ///         (log, if cx.is_last() { Ok(7) } else { Err("not yet") })
    ///     })
    ///     .await;
    /// assert_eq!((log, result), (Some(vec![1, 2, 3]), Ok(7)));
    /// # }
    /// ```
    ///
    /// # Errors
    /// The call was given up: why, after how many attempts, and the last error.
    pub fn run_with<S, T, E, Kind, Op, Fut, FutKind>(
        &self,
        state: S,
        operation: Op,
    ) -> Run<'_, Fut::Operation, Fut::Attempt, T, E, V>
    where
        D: Decider<E, Kind>,
        V: Values<T>,
        Op: FnMut(S, Arc<Attempt>) -> Fut,
        Fut: AttemptFuture<WithState<S, Op>, T, E, (S, Result<T, E>), FutKind>, // `async move { …; (state, result) }`
    {
        Fut::call(self.prepare(WithState::new(state, operation)), Seal)
    }

    /// Returns the judge of a call, with the closure that does nothing.
    #[cfg(feature = "tower")]
    #[inline]
    pub(crate) fn judge<'p, E, Kind>(&'p self, on_retry: &'p mut ()) -> Judge<'p, E, V>
    where
        D: Decider<E, Kind>,
    {
        Judge {
            common: &self.common,
            rules: self.decider.rules(),
            when: None,
            on_retry,
            cancel: None,
        }
    }

    /// Returns the settings that do not depend on errors.
    #[cfg(feature = "tower")]
    #[inline]
    pub(crate) fn settings(&self) -> &RetrierSettings {
        &self.common.settings
    }

    /// Returns the end of a call whose service failed its readiness check, and must not be called.
    #[cfg(feature = "tower")]
    pub(crate) fn never_called<E, Kind>(&self, error: E) -> RetryError<E>
    where
        D: Decider<E, Kind>,
    {
        let ended = Ended::without_attempt(Reason::NotRetryable, None);
        RetryError::of_call(AttemptError::Error(error), ended, self.decider.rules().source_of)
    }
}
