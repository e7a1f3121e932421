//! [`RetryService`]: a service whose calls are calls of a retrier.

use core::fmt;
use core::future::{Future, poll_fn};
use core::mem;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, ready};

use tower_service::Service;

use super::RetryLayer;
use super::requests::{ByClone, Requests};
use super::sending::{Sending, Source};
use crate::call::hedge::running::Running;
use crate::call::session::Session;
use crate::outcome::error::RetryError;
use crate::retrier::attempts::{DrivenCall, OperationSlots, Progress};
use crate::retrier::{AllSucceed, Decider, Readable, Values};

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
/// With a breaker or a deadline, it is always ready, and each call waits until the inner service is:
/// an open breaker rejects the call at once, and the deadline includes the wait. Otherwise, it is
/// ready when the inner service is.
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

retry_rules::partial_debug!(
    [S: fmt::Debug, D: fmt::Debug, Kind, R: fmt::Debug, C] RetryService<S, D, Kind, R, C>,
    |self| { inner: &self.inner, layer: &self.layer }
);

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
        if retrier.settings().awaits_readiness() {
            return Poll::Ready(Ok(()));
        }
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
        if !parts.retrier.settings().is_plain {
            return RetryFuture::guarded(call(layer, source));
        }
        let attempt = Sending::new(&mut source, parts).first();
        let waits = Session::new();
        RetryFuture { state: State::Plain { attempt, waits, source, layer } }
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
            attempt: Option<S::Future>,
            waits: Session,
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

impl<S: Service<Q>, Q, D, Kind, R, C> RetryFuture<S, Q, D, Kind, R, C> {
    #[cold]
    fn guarded(call: impl Future<Output = End<S::Response, S::Error>> + Send + 'static) -> Self {
        Self { state: State::Guarded { call: Box::pin(call) } }
    }
}

impl<S, Q, D, Kind, R, C> Future for RetryFuture<S, Q, D, Kind, R, C>
where
    S: Service<Q> + Clone,
    D: Decider<S::Error, Kind>,
    R: Values<S::Response>,
    C: Requests<Q>,
{
    type Output = End<S::Response, S::Error>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let end = ready!(match self.as_mut().project().state.project() {
            StateProjection::Plain { mut attempt, waits, source, layer } => 'call: {
                let parts = layer.parts();
                let retrier = &parts.retrier;
                let failed = match attempt.as_mut().as_pin_mut() {
                    Some(first) if !waits.has_waited() => {
                        match retrier.common.succeeded(ready!(first.poll(cx)), &mut None) {
                            Ok(value) => break 'call Poll::Ready(Ok(value)),
                            Err(failed) => Some(failed),
                        }
                    }
                    _ => None,
                };
                let (operation, closures) = (&mut Sending::new(source, parts), &mut ());
                let hedges = &mut Running::none();
                let mut slots = OperationSlots { operation, first: attempt, hedges };
                Progress::poll_plain(waits, &mut slots, retrier.judge(closures), cx, failed)
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
        let (retrier, settings) = (&parts.retrier, parts.retrier.settings());
        let (mut is_begun, mut driven) = (false, None);
        // Dropped before the permits.
        let (mut first, mut hedges) = (pin!(None), Running::none());
        poll_fn(|cx| {
            let (operation, first) = (&mut Sending::new(&mut source, parts), first.as_mut());
            let mut slots = OperationSlots { operation, first, hedges: &mut hedges };
            let (mut permit, mut failed) = (None, None);
            if !mem::replace(&mut is_begun, true) {
                // If the service panics, the permit is dropped during the panic: a failure.
                if let Ok(own) = settings.admit_first() {
                    permit = own;
                    slots.first.set(slots.operation.begin(1));
                    let Poll::Ready(outcome) = slots.poll_slot(0, cx) else {
                        driven = Some(DrivenCall::of_first(permit));
                        return Poll::Pending;
                    };
                    match retrier.common.succeeded(outcome, &mut permit) {
                        Ok(value) => return Poll::Ready(Ok(value)),
                        Err(outcome) => failed = Some(outcome),
                    }
                }
            }
            let (slots, closures) = (&mut slots, &mut ());
            let judge = retrier.judge(closures);
            DrivenCall::poll(&mut driven, slots, judge, settings, Some(cx), failed, permit)
        })
        .await
    }
}
