//! [`Run`]: one call of a [`Retrier`](crate::Retrier), as a future.

pub(crate) mod attempt_future;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub(crate) mod blocking;

use core::future::Future;
use core::marker::PhantomData;
use core::ops::ControlFlow;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use crate::event::retry_event::RetryEvent;
use crate::outcome::Nothing;
use crate::retrier::attempts::{CallParts, CallState};
use crate::retrier::listener::{Listener, Listeners, WaitsBy};
use crate::retrier::operation::Operation;
use crate::retrier::values::Values;

pin_project_lite::pin_project! {
    /// A call: what [`Retrier::run`](crate::Retrier::run) and `Retrier::blocking` return.
    ///
    /// Its methods add closures for this one call. They know the error's type, and may
    /// mutate what they capture.
    ///
    /// The future is `Send` if the operation's value and error are: the last failure may
    /// be kept across a wait.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let retrier = Retrier::new(Policy::new());
    /// let mut failures = Vec::new();
    /// let error = retrier
    ///     .run(|| async { "seven".parse::<u32>() })
    ///     .when(|error| !error.to_string().is_empty())
    ///     .on_retry(|event| failures.push(event.attempt()))
    ///     .await
    ///     .unwrap_err();
    /// assert_eq!((error.attempts(), failures), (3, vec![1, 2]));
    /// # }
    /// ```
    #[must_use = "a call does nothing until it is awaited, or called if it is blocking"]
    pub struct Run<'r, Op, Fut, T, E, V, W = fn(&E) -> bool, L = ()> {
        parts: CallParts<'r, Op, E, V, W, L>,
        #[pin]
        state: CallState<'r, T, E, Fut>,
    }
}

impl<'r, Op, Fut, T, E, V, W, L> Run<'r, Op, Fut, T, E, V, W, L> {
    pub(super) fn of(parts: CallParts<'r, Op, E, V, W, L>) -> Self {
        Self { parts, state: CallState::Unbegun }
    }
}

impl<'r, Op, Fut, T, E, V, W, L> Run<'r, Op, Fut, T, E, V, W, L>
where
    W: FnMut(&E) -> bool,
    L: Listener<E>,
{
    /// For this call, also retries failures for which `predicate` holds: in addition to those that
    /// the retrier's own list matches, or, if it has none, only these.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// let retrier = Retrier::new(Policy::new()).opaque();
    /// let error = retrier.blocking(|| Err::<(), u16>(404)).when(|code| *code >= 500).call();
    /// assert_eq!(error.unwrap_err().attempts(), 1);
    /// ```
    pub fn when<F>(self, mut predicate: F) -> Run<'r, Op, Fut, T, E, V, impl FnMut(&E) -> bool, L>
    where
        F: FnMut(&E) -> bool,
    {
        let CallParts { common, rules, operation, when: mut first, on_retry } = self.parts;
        let when =
            move |error: &E| first.as_mut().is_some_and(|first| first(error)) || predicate(error);
        Run::of(CallParts { common, rules, operation, when: Some(when), on_retry })
    }

    /// For this call, calls `listener` with each failure that will be retried, before the wait.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// # use std::time::Duration;
    /// let retrier = Retrier::new(Policy::new().attempts(2).max_delay(Duration::from_millis(1)));
    /// let mut last = None;
    /// let _ = retrier
    ///     .blocking(|| Err::<(), _>("down"))
    ///     .on_retry(|event| last = event.error().copied())
    ///     .call();
    /// assert_eq!(last, Some("down"));
    /// ```
    pub fn on_retry<F, R>(self, listener: F) -> Run<'r, Op, Fut, T, E, V, W, Listeners<L, F, R>>
    where
        F: FnMut(&RetryEvent<'_, E>) -> R,
        R: Nothing,
    {
        let CallParts { common, rules, operation, when, on_retry: first } = self.parts;
        let on_retry = Listeners { first, last: listener, returned: PhantomData };
        Run::of(CallParts { common, rules, operation, when, on_retry })
    }

    /// For this call, sets the wait that follows a failure: see
    /// [`Retrier::wait_by`](crate::Retrier::wait_by), whose closures come first.
    ///
    /// ```
    /// # use retry_runtime::{Policy, Retrier};
    /// use std::ops::ControlFlow::{Break, Continue};
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(9));
    /// let mut waits = vec![std::time::Duration::from_millis(1); 2];
    /// let error = retrier
    ///     .blocking(|| Err::<(), _>("down"))
    ///     .wait_by(|_, _, _| waits.pop().map_or(Break(()), Continue))
    ///     .call();
    /// assert_eq!(error.unwrap_err().attempts(), 3);
    /// ```
    pub fn wait_by<F>(self, wait_by: F) -> Run<'r, Op, Fut, T, E, V, W, WaitsBy<L, F>>
    where
        F: FnMut(u32, &E, Duration) -> ControlFlow<(), Duration>,
    {
        let CallParts { common, rules, operation, when, on_retry: first } = self.parts;
        let on_retry = WaitsBy { first, last: wait_by };
        Run::of(CallParts { common, rules, operation, when, on_retry })
    }
}

impl<Op, Fut, T, E, V, W, L> Future for Run<'_, Op, Fut, T, E, V, W, L>
where
    Op: Operation<Fut, T, E>,
    Fut: Future,
    V: Values<T>,
    W: FnMut(&E) -> bool,
    L: Listener<E>,
{
    type Output = Op::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Op::Output> {
        let this = self.project();
        let result = ready!(this.state.poll(this.parts, cx));
        Poll::Ready(this.parts.operation.finish(result))
    }
}

retry_rules::partial_debug!([Op, Fut, T, E, V, W, L] Run<'_, Op, Fut, T, E, V, W, L>, |self| {
    name: &self.parts.common.settings.name,
});
