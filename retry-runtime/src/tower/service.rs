//! [`RetryService`]: a service whose calls are calls of a retrier.

use core::fmt;
use core::future::{Future, poll_fn};
use core::mem;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker, ready};

use retry_rules::Policy;
use tokio::task::coop::unconstrained;
use tower_service::Service;

use super::RetryLayer;
use super::layer::Parts;
use super::requests::{ByClone, Requests, Supply};
use crate::base::sealed::Seal;
use crate::call::attempt::Attempt;
use crate::outcome::error::RetryError;
use crate::retrier::attempts::CallState;
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
        let service = mem::replace(&mut self.inner, clone);
        let layer = self.layer.clone();
        let mut source = Source::new(service, request);
        let parts = layer.parts();
        if !parts.retrier.is_plain() {
            return RetryFuture::guarded(call(layer, source));
        }
        let attempt = Sending::new(&mut source, parts).first();
        RetryFuture { state: State::Plain { call: CallState::begun(attempt), source, layer } }
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
            call: CallState<'static, S::Response, S::Error, S::Future>,
            source: Source<S, Q>,
            layer: L,
        },
        /// It has a breaker, a quota, a time limit or hedges.
        Guarded { call: Pin<Box<dyn Future<Output = End<S::Response, S::Error>> + Send>> },
        Ended,
    }
}

/// The result of a call.
type End<T, E> = Result<T, RetryError<E>>;

/// The source of the attempts of a call: its service and its request.
pub(super) struct Source<S, Q> {
    service: S,
    supply: Supply<Q>,
}

impl<S, Q> Source<S, Q> {
    /// The attempts of a call of `service`, which is ready.
    #[inline]
    pub(super) const fn new(service: S, request: Q) -> Self {
        Self { service, supply: Supply::Many(request) }
    }
}

/// A source while it makes attempts.
struct Sending<'p, S, Q, C> {
    source: &'p mut Source<S, Q>,
    requests: &'p C,
    policy: &'p Policy,
}

impl<'p, S: Service<Q>, Q, C: Requests<Q>> Sending<'p, S, Q, C> {
    #[inline]
    fn new<D, R>(source: &'p mut Source<S, Q>, parts: &'p Parts<D, R, C>) -> Self {
        Self { source, requests: &parts.requests, policy: parts.retrier.policy() }
    }

    /// Begins the first attempt.
    #[inline]
    fn first(&mut self) -> Option<S::Future> {
        self.prepare(1);
        self.send()
    }

    /// Determines whether the request has to be kept after this attempt.
    #[inline]
    fn prepare(&mut self, attempt: u32) {
        if !self.policy.allows_after(attempt) && !self.policy.is_hedged() {
            self.source.supply.end_with_next();
        }
    }

    #[inline]
    fn send(&mut self) -> Option<S::Future> {
        let request = self.source.supply.next(self.requests)?;
        Some(self.source.service.call(request))
    }
}

impl<S, Q, C> Operation<S::Future, S::Response, S::Error> for Sending<'_, S, Q, C>
where
    S: Service<Q> + Clone,
    C: Requests<Q>,
{
    type Output = End<S::Response, S::Error>;

    fn begin(&mut self, context: impl FnOnce() -> Attempt, _: Seal) -> Option<S::Future> {
        match context().number() {
            // The service is known to be ready.
            1 => self.first(),
            attempt => {
                self.prepare(attempt);
                None
            }
        }
    }

    fn poll_begun(&mut self, cx: &mut Context<'_>, _: Seal) -> Poll<Result<S::Future, S::Error>> {
        if let Err(error) = ready!(self.source.service.poll_ready(cx)) {
            // Such a service must not be used any more.
            self.source.supply = Supply::Spent;
            return Poll::Ready(Err(error));
        }
        let Some(attempt) = self.send() else {
            unreachable!("what cannot be sent again is not retried")
        };
        Poll::Ready(Ok(attempt))
    }

    fn hedge(&mut self, _: Seal) -> Option<S::Future> {
        let request = self.source.supply.copy(self.requests)?;
        let mut own = self.source.service.clone();
        is_ready(&mut own).then(|| own.call(request))
    }

    fn end(&mut self, output: Result<S::Response, S::Error>) -> Result<S::Response, S::Error> {
        output
    }

    fn can_repeat(&self) -> bool {
        !self.source.supply.is_spent()
    }

    fn finish(&mut self, result: Self::Output) -> Self::Output {
        result
    }
}

impl<S, Q, D, Kind, R, C> RetryFuture<S, Q, D, Kind, R, C>
where
    S: Service<Q>,
{
    #[cold]
    fn guarded(call: impl Future<Output = End<S::Response, S::Error>> + Send + 'static) -> Self {
        Self { state: State::Guarded { call: Box::pin(call) } }
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
        let end = ready!(match self.as_mut().project().state.project() {
            StateProjection::Plain { call, source, layer } => {
                let parts = layer.parts();
                parts.retrier.poll_plain(call, Sending::new(source, parts), cx)
            }
            StateProjection::Guarded { call } => call.as_mut().poll(cx),
            StateProjection::Ended => panic!("a call is polled after it has ended"),
        });
        // Drops the service, which may hold a permit or a connection.
        self.project().state.set(State::Ended);
        Poll::Ready(end)
    }
}

retry_rules::partial_debug!([S: Service<Q>, Q, D, Kind, R, C] RetryFuture<S, Q, D, Kind, R, C>);

/// Makes one call, of a retrier that lends it its breaker and its quota.
//
// A block, because an `async fn` would keep its arguments twice.
#[expect(clippy::manual_async_fn, reason = "the future would be larger")]
pub(super) fn call<S, Q, D, Kind, R, C>(
    layer: RetryLayer<D, Kind, R, C>,
    mut source: Source<S, Q>,
) -> impl Future<Output = End<S::Response, S::Error>>
where
    S: Service<Q> + Clone,
    D: Decider<S::Error, Kind> + Clone,
    R: Values<S::Response> + Clone,
    C: Requests<Q>,
{
    async move {
        let parts = layer.parts();
        let mut call = pin!(CallState::Unbegun);
        poll_fn(|cx| {
            parts.retrier.poll_guarded(call.as_mut(), Sending::new(&mut source, parts), cx)
        })
        .await
    }
}

/// Returns whether a service can be called now. A hedge does not wait for that: it would hold a
/// permit and tokens meanwhile, and a service without free capacity must not get the request twice.
fn is_ready<S: Service<Q>, Q>(service: &mut S) -> bool {
    // The attempt that is hedged may have used up the task's budget.
    let ready = pin!(unconstrained(poll_fn(|cx| service.poll_ready(cx))));
    matches!(ready.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(())))
}
