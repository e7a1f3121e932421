//! [`Run`]: one call of a [`Retrier`](crate::Retrier), as a future.

pub(crate) mod attempt_future;
pub(crate) mod blocking;

use core::future::Future;
use core::marker::PhantomData;
use core::mem;
use core::ops::ControlFlow;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;

use crate::base::sealed::Seal;
use crate::call::call_state::CallState;
use crate::call::cancel::{Cancel, CancelSignal, MaybeCancel};
use crate::call::hedge::running::Running;
use crate::event::retry_event::RetryEvent;
use crate::outcome::Nothing;
use crate::retrier::Retrier;
use crate::retrier::attempts::{DrivenCall, Judge, OperationSlots};
use crate::retrier::decider::{Decider, ErrorRules};
use crate::retrier::listener::{Listener, Listeners, Resumed, WaitsBy};
use crate::retrier::operation::Operation;
use crate::retrier::settings::{Common, NeedsDriver};
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
    #[project = RunProjection]
    #[must_use = "a call does nothing until it is awaited, or called if it is blocking"]
    pub struct Run<'r, Op, Fut, T, E, V, W = fn(&E) -> bool, L = (), C = ()> {
        parts: Parts<'r, Op, E, V, W, L>,
        #[pin]
        cancel: C,
        is_begun: bool,
        // One place for all attempts. In this order: attempts are dropped before their permits.
        #[pin]
        first: Option<Fut>,
        hedges: Running<Fut>,
        // Nothing while the first attempt runs, unless that has limits, hedges or a permit.
        driven: Option<DrivenCall<'r, T, E>>,
    }
}

/// The parts of a call, apart from its progress.
pub(super) struct Parts<'r, Op, E, V, W, L> {
    common: &'r Common<V>,
    rules: &'r ErrorRules<E>,
    operation: Op,
    when: Option<W>,
    on_retry: L,
}

impl<D, V> Retrier<D, V> {
    /// Prepares a call of any operation.
    #[inline]
    pub(crate) fn prepare<T, E, Kind, Op, Fut>(&self, operation: Op) -> Run<'_, Op, Fut, T, E, V>
    where
        D: Decider<E, Kind>,
    {
        let (common, rules) = (&self.common, self.decider.rules());
        Run::of(Parts { common, rules, operation, when: None, on_retry: () }, ())
    }
}

impl<'r, Op, Fut, T, E, V, W, L, C> Run<'r, Op, Fut, T, E, V, W, L, C> {
    fn of(parts: Parts<'r, Op, E, V, W, L>, cancel: C) -> Self {
        Self { parts, cancel, is_begun: false, first: None, hedges: Running::none(), driven: None }
    }
}

impl<'r, Op, Fut: Future, T, E, V, W, L> Run<'r, Op, Fut, T, E, V, W, L> {
    /// Sets a future that ends this call. When `signal` is ready, the wait under way ends, no
    /// further attempt begins, and the call returns its last error with
    /// [`Reason::Cancelled`](crate::Reason::Cancelled). An attempt that runs is not cut off. A call
    /// that is cancelled before its first attempt makes none.
    ///
    /// The future does not count as a bound: a policy with unlimited attempts, or with failures that
    /// use up none, needs one, or `budget = unlimited`.
    ///
    /// ```
    /// use retry_runtime::{Policy, Reason, Retrier};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let stop = tokio::sync::Notify::new();
    /// let retrier = Retrier::new(Policy::new().attempts(9));
    /// let call = retrier.run(|| async { Err::<(), _>("down") }).cancel(stop.notified());
    /// let stop_later = async {
    ///     tokio::time::sleep(Duration::from_secs(2)).await;
    ///     stop.notify_waiters();
    /// };
    /// let (result, ()) = tokio::join!(call, stop_later);
    /// let error = result.unwrap_err();
    /// assert_eq!((error.reason(), error.last()), (Reason::Cancelled, Some(&"down")));
    /// # }
    /// ```
    pub fn cancel<F: CancelSignal>(
        self,
        signal: F,
    ) -> Run<'r, Op, Fut, T, E, V, W, L, impl MaybeCancel> {
        Run::of(self.parts, Cancel::new(signal))
    }
}

impl<'r, Op, Fut, T, E, V, W, L, C> Run<'r, Op, Fut, T, E, V, W, L, C>
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
    pub fn when<F>(
        self,
        mut predicate: F,
    ) -> Run<'r, Op, Fut, T, E, V, impl FnMut(&E) -> bool, L, C>
    where
        F: FnMut(&E) -> bool,
    {
        let Parts { common, rules, operation, when: mut first, on_retry } = self.parts;
        let when =
            move |error: &E| first.as_mut().is_some_and(|first| first(error)) || predicate(error);
        Run::of(Parts { common, rules, operation, when: Some(when), on_retry }, self.cancel)
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
    #[expect(clippy::type_complexity, reason = "the parameters of the builder, in no other place")]
    pub fn on_retry<F, R>(self, listener: F) -> Run<'r, Op, Fut, T, E, V, W, Listeners<L, F, R>, C>
    where
        F: FnMut(&RetryEvent<'_, E>) -> R,
        R: Nothing,
    {
        let Parts { common, rules, operation, when, on_retry: first } = self.parts;
        let on_retry = Listeners { first, last: listener, returned: PhantomData };
        Run::of(Parts { common, rules, operation, when, on_retry }, self.cancel)
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
    pub fn wait_by<F>(self, wait_by: F) -> Run<'r, Op, Fut, T, E, V, W, WaitsBy<L, F>, C>
    where
        F: FnMut(u32, &E, Duration) -> ControlFlow<(), Duration>,
    {
        let Parts { common, rules, operation, when, on_retry: first } = self.parts;
        let on_retry = WaitsBy { first, last: wait_by };
        Run::of(Parts { common, rules, operation, when, on_retry }, self.cancel)
    }

    /// Continues a call that was stopped, `since_first` after its first failure, with its next
    /// attempt, which begins at once. Each failure updates `state`, and so does the end of the call:
    /// store it, and pass it to this method, or to [`Retrier::decide`](crate::Retrier::decide), in
    /// another process.
    ///
    /// As for `decide`, `budget` and `max_elapsed` are also checked against `since_first`. A
    /// `deadline` counts from here. Attempts that an open breaker has rejected are not part of the
    /// state.
    ///
    /// ```
    /// use retry_runtime::durable::CallState;
    /// use retry_runtime::{Policy, Reason, Retrier};
    /// use std::time::Duration;
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let retrier = Retrier::new(Policy::new().attempts(4));
    /// let fails = || async { Err::<(), _>("down") };
    /// let mut state = CallState::default();
    /// let call = retrier.run(fails).resume(&mut state, Duration::ZERO);
    /// let stopped = call.cancel(tokio::time::sleep(Duration::from_secs(2))).await;
    /// assert_eq!(stopped.unwrap_err().reason(), Reason::Cancelled);
    /// assert_eq!((state.attempts, state.waited), (2, Duration::from_secs(2)));
    ///
    /// // An hour later, in another process:
    /// let call = retrier.run(fails).resume(&mut state, Duration::from_secs(3_600));
    /// assert_eq!(call.await.unwrap_err().attempts(), 4);
    /// # }
    /// ```
    pub fn resume<'s>(
        self,
        state: &'s mut CallState,
        since_first: Duration,
    ) -> Run<'r, Op, Fut, T, E, V, W, Resumed<'s, L>, C> {
        let Parts { common, rules, operation, when, on_retry: first } = self.parts;
        let on_retry = Resumed { first, state, since_first };
        Run::of(Parts { common, rules, operation, when, on_retry }, self.cancel)
    }
}

impl<Op, Fut, T, E, V, W, L, C> Future for Run<'_, Op, Fut, T, E, V, W, L, C>
where
    Op: Operation<Fut, T, E>,
    Fut: Future,
    V: Values<T>,
    W: FnMut(&E) -> bool,
    L: Listener<E>,
    C: MaybeCancel,
{
    type Output = Op::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Op::Output> {
        let RunProjection { parts, mut cancel, is_begun, mut first, hedges, driven } =
            self.project();
        let Parts { common, rules, operation, when, on_retry } = parts;
        let settings = &common.settings;
        // If the operation panics, it is dropped during the panic, which counts as a failure.
        let mut permit = None;
        let failed = 'first: {
            if !mem::replace(is_begun, true) {
                let may_cancel = cancel.as_mut().signal(Seal).is_some();
                match settings.admit(may_cancel || on_retry.resumed(Seal).is_some()) {
                    Ok(own) => permit = own,
                    Err(NeedsDriver) => break 'first None,
                }
                first.set(operation.begin(1, || settings.first_attempt(), Seal));
            } else if driven.is_some() {
                break 'first None;
            }
            let mut slots = OperationSlots { operation, first: first.as_mut(), hedges };
            let Poll::Ready(outcome) = slots.poll_slot(0, cx) else {
                if permit.is_some() {
                    *driven = Some(DrivenCall::of_first(permit));
                }
                return Poll::Pending;
            };
            match common.succeeded(outcome, &mut permit) {
                Ok(value) => return Poll::Ready(operation.finish(Ok(value))),
                Err(failed) => Some(failed),
            }
        };
        let judge = Judge::new(common, rules, when, on_retry, cancel.signal(Seal));
        let (slots, cx) = (&mut OperationSlots { operation, first, hedges }, Some(cx));
        let result = ready!(DrivenCall::poll(driven, slots, judge, settings, cx, failed, permit));
        Poll::Ready(operation.finish(result))
    }
}

retry_rules::partial_debug!([Op, Fut, T, E, V, W, L, C] Run<'_, Op, Fut, T, E, V, W, L, C>, |self| {
    name: &self.parts.common.settings.name,
});
