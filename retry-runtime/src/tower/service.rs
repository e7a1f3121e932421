//! [`RetryService`]: a service whose calls are calls of a retrier.

use core::fmt;
use core::future::{Future, poll_fn};
use core::mem;
use core::ops::ControlFlow;
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker, ready};
use std::sync::{Mutex, MutexGuard};

use retry_rules::Policy;
use tokio::task::coop::unconstrained;
use tower_service::Service;

use super::RetryLayer;
use super::layer::Parts;
use super::requests::{ByClone, Requests, Supply};
use crate::base::sealed::Seal;
use crate::base::sync::unpoisoned;
use crate::call::attempt::Attempt;
use crate::outcome::error::RetryError;
use crate::retrier::plain::PlainSession;
use crate::retrier::{AllSucceed, Decider, Operation, Readable, Values};

/// A service whose calls are retried, created by [`RetryLayer`].
///
/// Its error is a [`RetryError`] of the inner error. Put `.map_err(RetryError::boxed)` above it if
/// you want a box.
///
/// It is a [`Service`] if the inner one is `Clone + Send`, the request is `Clone` (or
/// [`RetryLayer::clone_request`] says how to clone it), the error has a text and is one that the
/// matchers can judge, and all of them, and the inner future, are `Send`. If a tower method is not
/// found on it, one of these does not hold.
///
/// An error from the inner service's readiness check ends the call: such a service must not be used
/// any more. A hedge is sent on a clone of the service, and only if that clone is ready at once.
///
/// ```
/// use retry_runtime::tower::{RetryLayer, RetryService};
/// use retry_runtime::{Policy, Retrier};
/// use tower::Layer;
///
/// let layer: RetryLayer = RetryLayer::new(Retrier::new(Policy::new()));
/// let service: RetryService<&str> = layer.layer("any service");
/// assert_eq!(*service.get_ref(), "any service");
/// ```
pub struct RetryService<S, D = Readable, Kind = (), R = AllSucceed, C = ByClone>
where
    D: 'static,
    R: 'static,
    C: 'static,
{
    pub(super) inner: S,
    pub(super) layer: RetryLayer<D, Kind, R, C>,
}

impl<S, D, Kind, R, C> RetryService<S, D, Kind, R, C> {
    /// Returns a reference to the inner service.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns a mutable reference to the inner service.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Returns the inner service.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: Clone, D, Kind, R, C> Clone for RetryService<S, D, Kind, R, C> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<S, D, Kind, R, C> fmt::Debug for RetryService<S, D, Kind, R, C>
where
    S: fmt::Debug,
    D: fmt::Debug,
    R: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inner, layer } = self;
        f.debug_struct("RetryService").field("inner", inner).field("layer", layer).finish()
    }
}

impl<S, Q, D, Kind, R, C> Service<Q> for RetryService<S, D, Kind, R, C>
where
    S: Service<Q> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Send + 'static,
    S::Error: Send + 'static,
    Q: Send + 'static,
    D: Decider<S::Error, Kind> + Clone + Send + Sync + 'static,
    Kind: 'static,
    R: Values<S::Response> + Clone + Send + Sync + 'static,
    C: Requests<Q> + Send + Sync + 'static,
{
    type Response = S::Response;
    type Error = RetryError<S::Error>;
    type Future = RetryFuture<S, Q, D, Kind, R, C>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let retrier = &self.layer.parts().retrier;
        self.inner.poll_ready(cx).map_err(|error| retrier.never_called(error))
    }

    #[inline]
    fn call(&mut self, request: Q) -> Self::Future {
        // The service that was polled for readiness is this one, not its clone.
        let clone = self.inner.clone();
        let mut service = mem::replace(&mut self.inner, clone);
        let layer = self.layer.clone();
        let Parts { retrier, requests } = layer.parts();
        if !retrier.is_plain() {
            return RetryFuture::guarded(call(layer, service, request));
        }
        let (request, supply) = Supply::new(request, retrier.policy().allows_after(1), requests);
        let stage = Stage::Attempt { attempt: service.call(request) };
        let call = PlainCall { layer, service, supply, session: PlainSession::new() };
        RetryFuture { state: State::Plain { stage, call } }
    }
}

pin_project_lite::pin_project! {
    /// The future of a call of a [`RetryService`].
    ///
    /// If only attempts are needed (no breaker, quota, time limit or hedge), they are part of it,
    /// and only a failure allocates.
    ///
    /// ```
    /// use retry_runtime::tower::{RetryFuture, RetryLayer};
    /// use retry_runtime::{Policy, Retrier};
    /// use tower::{Layer, Service, service_fn};
    ///
    /// let layer = RetryLayer::new(Retrier::new(Policy::new()));
    /// let mut service = layer.layer(service_fn(|n: u32| async move { Ok::<u32, std::io::Error>(n) }));
    /// let future: RetryFuture<_, u32, _, _> = service.call(7);
    /// ```
    #[must_use = "a call does nothing until it is awaited"]
    pub struct RetryFuture<S, Q, D = Readable, Kind = (), R = AllSucceed, C = ByClone>
    where
        S: Service<Q>,
        D: 'static,
        R: 'static,
        C: 'static,
    {
        #[pin]
        state: State<S, Q, RetryLayer<D, Kind, R, C>>,
    }
}

pin_project_lite::pin_project! {
    #[project = StateProjection]
    enum State<S, Q, L>
    where
        S: Service<Q>,
    {
        /// The retrier needs nothing but attempts.
        Plain {
            #[pin]
            stage: Stage<S::Future>,
            call: PlainCall<S, Q, L>,
        },
        /// It has a breaker, a quota, a time limit or hedges.
        Guarded { call: Pin<Box<dyn Future<Output = End<S::Response, S::Error>> + Send>> },
        Ended,
    }
}

pin_project_lite::pin_project! {
    /// The stage of a plain call.
    #[project = StageProjection]
    enum Stage<F> {
        Attempt {
            #[pin]
            attempt: F,
        },
        Wait,
        /// The service is polled until it is ready for a further attempt.
        Readiness,
    }
}

/// The result of a call.
type End<T, E> = Result<T, RetryError<E>>;

/// A plain call, without its stage.
struct PlainCall<S: Service<Q>, Q, L> {
    layer: L,
    service: S,
    supply: Supply<Q>,
    session: PlainSession<S::Response, S::Error>,
}

impl<S, Q, D, Kind, R, C> RetryFuture<S, Q, D, Kind, R, C>
where
    S: Service<Q>,
    D: Decider<S::Error, Kind> + Clone,
    R: Values<S::Response> + Clone,
    C: Requests<Q>,
{
    #[cold]
    fn guarded(call: impl Future<Output = End<S::Response, S::Error>> + Send + 'static) -> Self {
        Self { state: State::Guarded { call: Box::pin(call) } }
    }

    /// Handles a failed attempt of a plain call. Returns the result of the call, or `None` if a wait
    /// follows. A service whose readiness check has failed is not usable any more.
    #[cold]
    #[inline(never)]
    fn failed(
        mut self: Pin<&mut Self>,
        outcome: Result<S::Response, S::Error>,
        failure: Option<&R::Failure>,
        is_usable: bool,
    ) -> Option<End<S::Response, S::Error>> {
        let StateProjection::Plain { mut stage, call } = self.as_mut().project().state.project()
        else {
            unreachable!("the retrier handles the attempts of other calls")
        };
        // Drops the attempt before the wait.
        stage.set(Stage::Wait);
        let retrier = &call.layer.parts().retrier;
        let can_repeat = is_usable && !call.supply.is_spent();
        let session = mem::replace(&mut call.session, PlainSession::new());
        match retrier.failed(session, outcome, failure, can_repeat) {
            ControlFlow::Continue(session) => {
                call.session = session;
                None
            }
            ControlFlow::Break(end) => {
                self.project().state.set(State::Ended);
                Some(end)
            }
        }
    }

    /// Polls a guarded call, or a plain one between two attempts. Returns the result of the call, or
    /// `None` if an attempt of a plain call has begun.
    #[cold]
    #[inline(never)]
    fn poll_rest(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<End<S::Response, S::Error>>> {
        let (mut stage, call) = match self.as_mut().project().state.project() {
            StateProjection::Plain { stage, call } => (stage, call),
            StateProjection::Guarded { call } => {
                let end = ready!(call.as_mut().poll(cx));
                self.project().state.set(State::Ended);
                return Poll::Ready(Some(end));
            }
            StateProjection::Ended => panic!("a call is polled after it has ended"),
        };
        if matches!(*stage, Stage::Wait) {
            ready!(call.session.poll_wait(cx));
            stage.set(Stage::Readiness);
        }
        if let Err(error) = ready!(call.service.poll_ready(cx)) {
            return Poll::Ready(self.failed(Err(error), None, false));
        }
        let Parts { retrier, requests } = call.layer.parts();
        let more = retrier.policy().allows_after(call.session.number());
        let Some(request) = call.supply.take(more, requests) else {
            unreachable!("what cannot be sent again is not retried")
        };
        stage.set(Stage::Attempt { attempt: call.service.call(request) });
        Poll::Ready(None)
    }
}

impl<S, Q, D, Kind, R, C> Future for RetryFuture<S, Q, D, Kind, R, C>
where
    S: Service<Q> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Send + 'static,
    S::Error: Send + 'static,
    Q: Send + 'static,
    D: Decider<S::Error, Kind> + Clone + Send + Sync + 'static,
    Kind: 'static,
    R: Values<S::Response> + Clone + Send + Sync + 'static,
    C: Requests<Q> + Send + Sync + 'static,
{
    type Output = End<S::Response, S::Error>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            let running = match self.as_mut().project().state.project() {
                StateProjection::Plain { stage, call } => match stage.project() {
                    StageProjection::Attempt { attempt } => Some((attempt, call)),
                    _ => None,
                },
                _ => None,
            };
            if let Some((attempt, call)) = running {
                let (outcome, failure) = match ready!(attempt.poll(cx)) {
                    Ok(value) => {
                        let retrier = &call.layer.parts().retrier;
                        let failure = retrier.failure_of(&value);
                        if failure.is_none() {
                            retrier.succeeded(mem::replace(&mut call.session, PlainSession::new()));
                            // Drops the service, which may hold a permit or a connection.
                            self.project().state.set(State::Ended);
                            return Poll::Ready(Ok(value));
                        }
                        (Ok(value), failure)
                    }
                    error => (error, None),
                };
                if let Some(end) = self.as_mut().failed(outcome, failure.as_ref(), true) {
                    return Poll::Ready(end);
                }
            }
            if let Some(end) = ready!(self.as_mut().poll_rest(cx)) {
                return Poll::Ready(end);
            }
        }
    }
}

retry_rules::partial_debug!([S: Service<Q>, Q, D, Kind, R, C] RetryFuture<S, Q, D, Kind, R, C>);

/// The way in which a request is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// After the one before has ended.
    Alone,
    /// Beside one that has not been answered.
    AsHedge,
}

/// A closure that is not called again once the request is spent.
struct Sending<'a, Op> {
    send: Op,
    /// Set by the running attempt, and read after it in the same task.
    is_spent: &'a AtomicBool,
}

impl<Op, Fut, T, E> Operation<Fut, T, E> for Sending<'_, Op>
where
    Op: FnMut(Sent) -> Option<Fut>,
    Fut: Future<Output = Result<T, E>>,
{
    type Output = Result<T, RetryError<E>>;

    fn begin(&mut self, _: impl FnOnce() -> Attempt, _: Seal) -> Fut {
        let Some(attempt) = (self.send)(Sent::Alone) else {
            unreachable!("what cannot be sent again is not retried")
        };
        attempt
    }

    fn hedge(&mut self, _: Seal) -> Option<Fut> {
        (self.send)(Sent::AsHedge)
    }

    fn result(output: &Result<T, E>) -> &Result<T, E> {
        output
    }

    fn end(&mut self, output: Result<T, E>) -> Result<T, E> {
        output
    }

    fn can_repeat(&self) -> bool {
        !self.is_spent.load(Ordering::Relaxed)
    }

    fn finish(&mut self, result: Self::Output) -> Self::Output {
        result
    }
}

/// An attempt that is about to begin.
enum SentAttempt<S, Q> {
    /// On the service of the call, which has to be ready first unless it is known to be.
    Alone { request: Q, is_ready: bool },
    /// On a clone of the service, which is ready.
    AsHedge { request: Q, own: S },
}

/// Makes one call. The retrier makes all decisions.
//
// A block, because an `async fn` would keep its arguments twice.
pub(super) fn call<S, Q, D, Kind, R, C>(
    layer: RetryLayer<D, Kind, R, C>,
    service: S,
    request: Q,
) -> impl Future<Output = End<S::Response, S::Error>>
where
    S: Service<Q> + Clone,
    D: Decider<S::Error, Kind> + Clone,
    R: Values<S::Response> + Clone,
    C: Requests<Q>,
{
    // An attempt borrows the service mutably, which a closure cannot lend to a future. The attempts
    // run one after another, and hedges on clones, so the lock is never contended.
    let service = Mutex::new(service);
    async move {
        let Parts { retrier, requests } = layer.parts();
        let more = is_kept_after(1, retrier.policy());
        let (request, mut supply) = Supply::new(request, more, requests);
        let mut request = Some(request);
        let mut attempt = 0_u32;
        let service = &service;
        let is_spent = &AtomicBool::new(supply.is_spent());
        let send = |sent| {
            let begins = match sent {
                Sent::AsHedge => {
                    let request = supply.copy(requests)?;
                    let mut own = lock(service).clone();
                    if !is_ready(&mut own) {
                        return None;
                    }
                    SentAttempt::AsHedge { request, own }
                }
                Sent::Alone => {
                    attempt = attempt.saturating_add(1);
                    let more = is_kept_after(attempt, retrier.policy());
                    let request = request.take().or_else(|| supply.take(more, requests))?;
                    if more && supply.is_spent() {
                        is_spent.store(true, Ordering::Relaxed);
                    }
                    SentAttempt::Alone { request, is_ready: attempt == 1 }
                }
            };
            Some(async move {
                match begins {
                    SentAttempt::AsHedge { request, mut own } => own.call(request).await,
                    SentAttempt::Alone { request, is_ready } => {
                        if !is_ready {
                            // A service whose readiness check fails must not be used any more.
                            poll_fn(|cx| lock(service).poll_ready(cx))
                                .await
                                .inspect_err(|_| is_spent.store(true, Ordering::Relaxed))?;
                        }
                        let response = lock(service).call(request);
                        response.await
                    }
                }
            })
        };
        retrier.prepare(Sending { send, is_spent }).await
    }
}

/// Returns whether a service can be called now. A hedge does not wait for that: it would hold a
/// permit and tokens meanwhile, and a service without free capacity must not get the request twice.
fn is_ready<S: Service<Q>, Q>(service: &mut S) -> bool {
    // The attempt that is hedged may have used up the task's budget.
    let ready = pin!(unconstrained(poll_fn(|cx| service.poll_ready(cx))));
    matches!(ready.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(())))
}

/// Returns whether the request may be sent again after it was sent for `attempt`.
fn is_kept_after(attempt: u32, policy: &Policy) -> bool {
    policy.allows_after(attempt) || policy.is_hedged()
}

fn lock<S>(service: &Mutex<S>) -> MutexGuard<'_, S> {
    // A panic of the service propagates through the future of the call, and ends it.
    unpoisoned(service.lock())
}
