//! [`RetryLayer`]: makes services retry.

use core::fmt;
use core::marker::PhantomData;
use std::sync::Arc;

use tower_layer::Layer;

use super::RetryService;
use super::requests::{ByClone, CloneWith};
use super::responses::ClassifyResponse;
use crate::classify::Classify;
use crate::protect::shared::Shared;
use crate::retrier::{AllSucceed, Readable, Retrier, RetryOnValue};

/// Turns a service into a [`RetryService`] with one [`Retrier`], whose breaker and quota all
/// services of this layer share.
///
/// `InferredFromCall` is the kind of error that the service has where it is called. In a struct, the service is a
/// `RetryService<S, ForError<E>>`, of a retrier with closures or [for one
/// error](Retrier::for_error).
///
/// ```
/// use retry_runtime::tower::RetryLayer;
/// use retry_runtime::{BreakerConfig, CircuitBreaker, Policy, Retrier};
/// use tower::{Layer, Service, ServiceExt, service_fn};
///
/// static SHOP: CircuitBreaker = CircuitBreaker::new("shop", BreakerConfig::new());
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let layer = RetryLayer::new(Retrier::new(Policy::new()).breaker(&SHOP));
/// let mut service = layer.layer(service_fn(|order: u32| async move {
///     if order == 0 { Err("no such order") } else { Ok(order) }
/// }));
/// assert_eq!(service.ready().await.unwrap().call(7).await, Ok(7));
/// assert_eq!(service.ready().await.unwrap().call(0).await.unwrap_err().attempts(), 3);
/// # }
/// ```
#[must_use = "a layer does nothing until it wraps a service"]
pub struct RetryLayer<D = Readable, InferredFromCall = (), R = AllSucceed, C = ByClone>
where
    D: 'static,
    R: 'static,
    C: 'static,
{
    parts: Shared<Parts<D, R, C>>,
    kind: PhantomData<fn() -> InferredFromCall>,
}

/// The parts of a layer.
#[derive(Clone)]
pub(super) struct Parts<D, R, C> {
    pub(super) retrier: Retrier<D, R>,
    pub(super) requests: C,
}

impl<D, InferredFromCall, R> RetryLayer<D, InferredFromCall, R> {
    /// Creates a layer that retries errors as `retrier` does, and the responses that it
    /// [picks](Retrier::retry_on_value). A [`Policy`](crate::Policy) alone retries every error.
    ///
    /// ```
    /// # use retry_runtime::tower::RetryLayer;
    /// # use retry_runtime::{Policy, Retrier, matchers::network};
    /// # use tower::{Layer, ServiceExt, service_fn};
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let layer = RetryLayer::new(Retrier::new(Policy::new()).retry_on([network]));
    /// let service = layer.layer(service_fn(|n: u32| async move { Ok::<_, std::io::Error>(n + 1) }));
    /// assert_eq!(service.oneshot(6).await.unwrap(), 7);
    /// # }
    /// ```
    pub fn new(retrier: impl Into<Retrier<D, R>>) -> Self {
        Self::of(Parts { retrier: retrier.into(), requests: ByClone })
    }
}

impl<D: Clone, Kind, C: Clone> RetryLayer<D, Kind, AllSucceed, C> {
    /// Treats responses as failures: `classify` returns what is wrong with one, or `None`
    /// for a success.
    ///
    /// The retrier's `retry_on` and `abort_on` match a failed response as they match an error, by
    /// its [`Classify`] and its text. A retrier with neither, or with only `when`, which concerns
    /// errors, retries it. [`Classify::retry_after`] provides the wait, and the breaker counts the
    /// failure. Listeners receive no error, as with `ok(…)` in the attribute.
    ///
    /// With the feature `http`, pass `StatusError::of`:
    ///
    #[cfg_attr(feature = "http", doc = "```")]
    #[cfg_attr(not(feature = "http"), doc = "```ignore")]
    /// use http::{Request, Response};
    /// use retry_runtime::http::StatusError;
    /// use retry_runtime::matchers::{network, rate_limit, server_error};
    /// use retry_runtime::tower::RetryLayer;
    /// use retry_runtime::{Policy, Retrier};
    /// use tower::{Layer, ServiceExt, service_fn};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// # let client = service_fn(|_: Request<()>| async { Ok::<_, std::io::Error>(Response::builder().status(404).body(()).unwrap()) });
    /// let retrier = Retrier::new(Policy::new()).retry_on([network, server_error, rate_limit]);
    /// let service = RetryLayer::new(retrier)
    ///     .classify_response(StatusError::of)
    ///     .layer(client);
    /// let response = service.oneshot(Request::new(())).await.unwrap();
    /// assert_eq!(response.status(), 404); // no failure that is retried
    /// # }
    /// ```
    pub fn classify_response<T, X, F>(
        self,
        classify: F,
    ) -> RetryLayer<D, Kind, ClassifyResponse<F>, C>
    where
        F: Fn(&T) -> Option<X>,
        X: Classify + Send,
    {
        self.map_parts(|Parts { retrier, requests }| {
            let retrier = retrier.with_values(ClassifyResponse(Arc::new(classify)));
            Parts { retrier, requests }
        })
    }

    /// Retries the responses that `failed` picks, whatever the matchers say: `ok(…)` in the
    /// attribute. The breaker counts each as a success, like any value; with
    /// [`classify_response`](Self::classify_response) it counts them as failures.
    ///
    /// ```
    /// use retry_runtime::tower::RetryLayer;
    /// use retry_runtime::{Policy, Retrier};
    /// use tower::{Layer, ServiceExt, service_fn};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let is_built = service_fn(|build: u64| async move { Ok::<_, std::io::Error>(build % 2 == 0) });
    /// let service = RetryLayer::new(Retrier::new(Policy::new()))
    ///     .retry_response(|done: &bool| !done)
    ///     .layer(is_built);
    /// // The caller gets the last response, although it would be retried.
    /// assert_eq!(service.oneshot(7).await.unwrap(), false);
    /// # }
    /// ```
    pub fn retry_response<T, F>(self, failed: F) -> RetryLayer<D, Kind, RetryOnValue<F>, C>
    where
        F: Fn(&T) -> bool,
    {
        self.map_parts(|Parts { retrier, requests }| {
            let retrier = retrier.with_values(RetryOnValue(Arc::new(failed)));
            Parts { retrier, requests }
        })
    }
}

impl<D: Clone, Kind, R: Clone> RetryLayer<D, Kind, R> {
    /// Creates the request for a further attempt with `clone` instead of `Clone`. If `clone`
    /// returns `None`, the request is sent only once: an order that must not be placed twice, a
    /// body that is a stream.
    ///
    /// It is called before each attempt except the last one that the policy allows.
    ///
    /// ```
    /// use retry_runtime::tower::RetryLayer;
    /// use retry_runtime::{Policy, Retrier};
    /// use tower::{Layer, ServiceExt, service_fn};
    ///
    /// enum Command { Read(u32), Write(u32, Vec<u8>) }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let service = RetryLayer::new(Retrier::new(Policy::new()))
    ///     .clone_request(|command: &Command| match command {
    ///         Command::Read(at) => Some(Command::Read(*at)),
    ///         Command::Write(..) => None,
    ///     })
    ///     .layer(service_fn(|_: Command| async { Err::<(), _>("down") }));
    /// let error = service.clone().oneshot(Command::Read(1)).await.unwrap_err();
    /// assert_eq!(error.attempts(), 3);
    /// let error = service.oneshot(Command::Write(1, vec![])).await.unwrap_err();
    /// assert_eq!(error.attempts(), 1);
    /// # }
    /// ```
    pub fn clone_request<Q, F>(self, clone: F) -> RetryLayer<D, Kind, R, CloneWith<F>>
    where
        F: Fn(&Q) -> Option<Q>,
    {
        self.repeating(CloneWith(Arc::new(clone)))
    }

    /// Creates the request for a further attempt as `requests` does.
    pub(super) fn repeating<C>(self, requests: C) -> RetryLayer<D, Kind, R, C> {
        self.map_parts(|Parts { retrier, .. }| Parts { retrier, requests })
    }
}

impl<D: Clone, Kind, R: Clone, C: Clone> RetryLayer<D, Kind, R, C> {
    /// Keeps this layer in memory until the program ends, so that its services and their calls do
    /// not count their references to it.
    ///
    /// Use it for a layer that is created once: the memory is never freed. A layer that another
    /// method makes of this one is kept as well. Without `leak`, the clone of a service and its
    /// call count four times, which takes longer than the rest of a successful call, and longer
    /// still if several threads share one service.
    ///
    /// ```
    /// use retry_runtime::tower::RetryLayer;
    /// use retry_runtime::{Policy, Retrier, matchers::network};
    /// use tower::{ServiceBuilder, ServiceExt, service_fn};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// let retrier = Retrier::new(Policy::new()).retry_on([network]);
    /// let service = ServiceBuilder::new()
    ///     .layer(RetryLayer::new(retrier).leak())
    ///     .service(service_fn(|n: u32| async move { Ok::<_, std::io::Error>(n + 1) }));
    /// assert_eq!(service.oneshot(6).await.unwrap(), 7);
    /// # }
    /// ```
    pub fn leak(self) -> Self {
        let parts = Shared::Static(match self.parts {
            Shared::Static(parts) => parts,
            parts @ Shared::Counted(_) => Box::leak(Box::new(parts.into_owned())),
        });
        Self { parts, ..self }
    }

    /// Creates a layer with other parts, which is leaked if this one is.
    fn map_parts<V, P>(
        self,
        change: impl FnOnce(Parts<D, R, C>) -> Parts<D, V, P>,
    ) -> RetryLayer<D, Kind, V, P> {
        let is_leaked = matches!(self.parts, Shared::Static(_));
        let parts = change(self.parts.into_owned());
        let parts = if is_leaked {
            Shared::Static(Box::leak(Box::new(parts)))
        } else {
            Shared::Counted(Arc::new(parts))
        };
        RetryLayer { parts, kind: PhantomData }
    }
}

impl<D, Kind, R, C> RetryLayer<D, Kind, R, C> {
    fn of(parts: Parts<D, R, C>) -> Self {
        Self { parts: Shared::Counted(Arc::new(parts)), kind: PhantomData }
    }

    /// A layer with a copy of the parts. Compiled once for all services.
    #[inline(never)]
    fn copied(&self) -> Self
    where
        Parts<D, R, C>: Clone,
    {
        Self::of(self.parts().clone())
    }

    #[inline]
    pub(super) fn parts(&self) -> &Parts<D, R, C> {
        self.parts.as_ref()
    }
}

impl<S, D: Clone, Kind, R: Clone, C: Clone> Layer<S> for RetryLayer<D, Kind, R, C> {
    type Service = RetryService<S, D, Kind, R, C>;

    fn layer(&self, inner: S) -> Self::Service {
        let layer = match &self.parts {
            Shared::Static(_) => self.clone(),
            // A copy for each service, so that those on different threads do not share a count.
            Shared::Counted(_) => self.copied(),
        };
        RetryService { inner, layer }
    }
}

impl<D, Kind, R, C> Clone for RetryLayer<D, Kind, R, C> {
    #[inline]
    fn clone(&self) -> Self {
        Self { parts: self.parts.clone(), kind: self.kind }
    }
}

retry_rules::partial_debug!([D: fmt::Debug, Kind, R: fmt::Debug, C] RetryLayer<D, Kind, R, C>, |self| {
    retrier: &self.parts().retrier,
});
