//! [`RetryService`]: a service whose calls are calls of a retrier.

use core::fmt;
use core::future::{Future, poll_fn};
use core::mem;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tower_service::Service;

use super::RetryLayer;
use super::matching::{CallMatching, Failed};
use super::requests::{ByClone, Requests, Supply};
use super::responses::{AllSucceed, Responses};
use crate::outcome::error::{AttemptError, Ended};
use crate::outcome::error::{Reason, RetryError};
use crate::retrier::decider::{Decider, Everything};

/// A service whose calls are retried: what [`RetryLayer`] makes.
///
/// Its error is a [`RetryError`] of the inner one's. Put
/// `.map_err(RetryError::boxed)` above it where a box is wanted.
///
/// It is a [`Service`] where the inner one is `Clone + Send`, the request is
/// `Clone` (or [`RetryLayer::clone_request`] says how it is cloned), the error
/// has a text and is one that the matchers can judge, and all of them, and the
/// inner future, are `Send`. Where a method of tower is not found on it, one of
/// these does not hold.
///
/// An error that the inner service gives when it is asked whether it is ready
/// ends the call: such a service is not to be used any more.
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
pub struct RetryService<S, M = Everything, Kind = (), R = AllSucceed, C = ByClone> {
    inner: S,
    layer: RetryLayer<M, Kind, R, C>,
}

impl<S, M, Kind, R, C> RetryService<S, M, Kind, R, C> {
    pub(super) fn new(inner: S, layer: RetryLayer<M, Kind, R, C>) -> Self {
        Self { inner, layer }
    }

    /// The service inside.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The service inside.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// The service inside.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: Clone, M, Kind, R, C> Clone for RetryService<S, M, Kind, R, C> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), layer: self.layer.clone() }
    }
}

impl<S: fmt::Debug, M: fmt::Debug, Kind, R, C> fmt::Debug for RetryService<S, M, Kind, R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inner, layer } = self;
        f.debug_struct("RetryService").field("inner", inner).field("layer", layer).finish()
    }
}

impl<S, Q, M, Kind, R, C> Service<Q> for RetryService<S, M, Kind, R, C>
where
    S: Service<Q> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Send + 'static,
    S::Error: fmt::Display + Send + 'static,
    Q: Send + 'static,
    M: Decider<S::Error, Kind> + Send + Sync + 'static,
    Kind: 'static,
    R: Responses<S::Response> + Send + Sync + 'static,
    R::Failure: Send + 'static,
    C: Requests<Q> + Send + Sync + 'static,
{
    type Response = S::Response;
    type Error = RetryError<S::Error>;
    type Future = RetryFuture<S::Response, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx).map_err(never_called)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        // The one that is ready is this one, and not its clone.
        let clone = self.inner.clone();
        let service = mem::replace(&mut self.inner, clone);
        let layer = self.layer.clone();
        RetryFuture(Box::pin(call(layer, service, request)))
    }
}

/// The future of a call of a [`RetryService`].
///
/// ```
/// use retry_runtime::tower::{RetryFuture, RetryLayer};
/// use retry_runtime::{Policy, Retrier};
/// use tower::{Layer, Service, service_fn};
///
/// let layer = RetryLayer::new(Retrier::new(Policy::new()));
/// let mut service = layer.layer(service_fn(|n: u32| async move { Ok::<u32, std::io::Error>(n) }));
/// let future: RetryFuture<u32, std::io::Error> = service.call(7);
/// ```
#[must_use = "a call does nothing until it is awaited"]
pub struct RetryFuture<T, E>(Pin<Box<dyn Future<Output = Result<T, RetryError<E>>> + Send>>);

impl<T, E> Future for RetryFuture<T, E> {
    type Output = Result<T, RetryError<E>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl<T, E> fmt::Debug for RetryFuture<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryFuture").finish_non_exhaustive()
    }
}

/// The error of a service that is not to be called.
fn never_called<E>(error: E) -> RetryError<E> {
    let ended = Ended { reason: Reason::NotRetryable, attempts: 0, waited: Duration::ZERO };
    RetryError::new(Some(AttemptError::Error(error)), ended)
}

/// One call. The session, and with it every verdict, is the retrier's.
async fn call<S, Q, M, Kind, R, C>(
    layer: RetryLayer<M, Kind, R, C>,
    service: S,
    request: Q,
) -> Result<S::Response, RetryError<S::Error>>
where
    S: Service<Q>,
    S::Error: fmt::Display,
    M: Decider<S::Error, Kind>,
    R: Responses<S::Response>,
    C: Requests<Q>,
{
    let RetryLayer { retrier, requests, .. } = layer;
    let mut retrier = retrier.with(CallMatching::new);
    let mut supply = Supply::new(request, &*requests);
    let mut first = supply.take(retrier.policy().allows_after(1));
    if supply.is_spent() {
        retrier = retrier.once();
    }
    let mut attempt = 0_u32;
    // An attempt borrows the service mutably, which a closure cannot lend to a future. The
    // attempts follow one another, so that nobody ever waits for the lock.
    let service = &Mutex::new(service);
    let classifier = retrier.matchers();
    let outcome = retrier
        .run(|| {
            attempt = attempt.saturating_add(1);
            let more = retrier.policy().allows_after(attempt);
            let request = first.take().or_else(|| supply.take(more));
            if more && supply.is_spent() {
                classifier.spend();
            }
            async move {
                let Some(request) = request else {
                    unreachable!("what cannot be sent again is not retried")
                };
                if attempt > 1 {
                    poll_fn(|cx| lock(service).poll_ready(cx)).await.map_err(Failed::NotReady)?;
                }
                let response = lock(service).call(request);
                let response = response.await.map_err(Failed::Call)?;
                match classifier.responses().failure(&response) {
                    Some(failure) => Err(Failed::Response { response, failure }),
                    None => Ok(response),
                }
            }
        })
        .await;
    // What failed may be a response, and that is what the caller gets.
    outcome.or_else(|error| error.try_map(Failed::into_error).map_or_else(Ok, Err))
}

fn lock<S>(service: &Mutex<S>) -> MutexGuard<'_, S> {
    // A panic of the service goes through the future of the call, and ends it.
    service.lock().unwrap_or_else(PoisonError::into_inner)
}
