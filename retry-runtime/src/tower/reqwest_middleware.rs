//! `RetryMiddleware`, a tower layer under a client of reqwest-middleware.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Arc, Mutex, MutexGuard};

use ::http::Extensions;
use ::reqwest::{Request, Response};
use ::reqwest_middleware::{Error, Middleware, Next, Result};
use tower_service::Service;

use super::RetryLayer;
use super::requests::Requests;
use super::responses::ClassifyResponse;
use super::sending::Source;
use super::service::call;
use crate::base::sealed::Sealed;
use crate::base::sync::unpoisoned;
use crate::http::StatusError;
use crate::outcome::error::RetryError;
use crate::retrier::{Decider, Readable, Retrier, Values};

/// A middleware whose calls are calls of one [`Retrier`], whose breaker and quota all requests of
/// the client share.
///
/// `Kind` is inferred where the middleware is added to a client.
///
/// ```
/// use reqwest_middleware::ClientBuilder;
/// use retry_runtime::matchers::transient;
/// use retry_runtime::reqwest_middleware::RetryMiddleware;
/// use retry_runtime::{BreakerConfig, CircuitBreaker, Policy, Retrier};
///
/// static SHOP: CircuitBreaker = CircuitBreaker::new("shop", BreakerConfig::new());
///
/// let retrier = Retrier::new(Policy::new()).retry_on([transient]).breaker(&SHOP);
/// let client = ClientBuilder::new(reqwest::Client::new())
///     .with(RetryMiddleware::new(retrier))
///     .build();
/// ```
#[must_use = "a middleware does nothing until it is added to a client"]
pub struct RetryMiddleware<D = Readable, Kind = (), R = ByStatus, C = IfIdempotent>
where
    D: 'static,
    R: 'static,
    C: 'static,
{
    layer: RetryLayer<D, Kind, R, C>,
}

/// Takes responses with a status 4xx or 5xx for failures: the default.
pub type ByStatus = ClassifyResponse<fn(&Response) -> Option<StatusError>>;

/// Sends requests with an idempotent method again, if their body can be cloned: the default.
#[derive(Clone, Copy, Debug)]
pub struct IfIdempotent;

impl Sealed for IfIdempotent {}

impl Requests<Request> for IfIdempotent {
    fn clone_request(&self, request: &Request) -> Option<Request> {
        request.method().is_idempotent().then(|| request.try_clone()).flatten()
    }
}

impl<D: Clone, Kind> RetryMiddleware<D, Kind> {
    /// Creates a middleware that retries errors and responses as `retrier` does, of requests with an
    /// idempotent method. A [`Policy`](crate::Policy) alone retries every error.
    pub fn new(retrier: impl Into<Retrier<D>>) -> Self {
        let classify: fn(&Response) -> Option<StatusError> = StatusError::of;
        RetryLayer::new(retrier.into()).classify_response(classify).repeating(IfIdempotent).into()
    }
}

/// Creates a middleware that takes for a failure what the layer
/// [classifies](RetryLayer::classify_response), and repeats each request that it
/// [clones](RetryLayer::clone_request).
///
/// ```
/// use reqwest::Request;
/// use reqwest_middleware::ClientBuilder;
/// use retry_runtime::http::StatusError;
/// use retry_runtime::matchers::{connect, rate_limit};
/// use retry_runtime::reqwest_middleware::RetryMiddleware;
/// use retry_runtime::tower::RetryLayer;
/// use retry_runtime::{Policy, Retrier};
///
/// // Failures after which no order was placed, so that a POST may be repeated.
/// let retrier = Retrier::new(Policy::new()).retry_on([connect, rate_limit]);
/// let layer = RetryLayer::new(retrier)
///     .classify_response(StatusError::of)
///     .clone_request(Request::try_clone);
/// let client = ClientBuilder::new(reqwest::Client::new())
///     .with(RetryMiddleware::from(layer))
///     .build();
/// ```
impl<D, Kind, R, C> From<RetryLayer<D, Kind, R, C>> for RetryMiddleware<D, Kind, R, C> {
    fn from(layer: RetryLayer<D, Kind, R, C>) -> Self {
        Self { layer }
    }
}

impl<D, Kind, R, C> Clone for RetryMiddleware<D, Kind, R, C> {
    fn clone(&self) -> Self {
        Self { layer: self.layer.clone() }
    }
}

retry_rules::partial_debug!(
    [D: fmt::Debug, Kind, R: fmt::Debug, C] RetryMiddleware<D, Kind, R, C>,
    |self| { layer: &self.layer }
);

/// The response to a request. In a browser, it belongs to the thread of the page.
#[cfg(not(target_arch = "wasm32"))]
type Sending<'a> = Pin<Box<dyn Future<Output = Result<Response>> + Send + 'a>>;
#[cfg(target_arch = "wasm32")]
type Sending<'a> = Pin<Box<dyn Future<Output = Result<Response>> + 'a>>;

impl<D, Kind, R, C> Middleware for RetryMiddleware<D, Kind, R, C>
where
    D: Decider<Error, Kind> + Clone + Send + Sync + 'static,
    Kind: 'static,
    R: Values<Response> + Clone + Send + Sync + 'static,
    C: Requests<Request> + Send + Sync + 'static,
{
    // As `async_trait` writes it.
    fn handle<'this, 'extensions, 'next, 'call>(
        &'this self,
        request: Request,
        extensions: &'extensions mut Extensions,
        next: Next<'next>,
    ) -> Sending<'call>
    where
        Self: 'call,
        'this: 'call,
        'extensions: 'call,
        'next: 'call,
    {
        Box::pin(async move {
            let shared = Arc::new(Mutex::new(core::mem::take(extensions)));
            let rest = Rest { next, extensions: Arc::clone(&shared) };
            let source = Source::new(rest, request);
            let result = call(self.layer.clone(), source).await;
            *extensions = core::mem::take(&mut *lock(&shared));
            result.map_err(RetryError::into_error)
        })
    }
}

/// The middlewares behind this one, and the client, as a service.
#[derive(Clone)]
struct Rest<'a> {
    next: Next<'a>,
    extensions: Arc<Mutex<Extensions>>,
}

impl<'a> Service<Request> for Rest<'a> {
    type Response = Response;
    type Error = Error;
    type Future = Sending<'a>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let Self { next, extensions: shared } = self.clone();
        Box::pin(async move {
            // A copy: a hedge runs beside this attempt, and a time limit may drop it.
            let mut extensions = lock(&shared).clone();
            let result = next.run(request, &mut extensions).await;
            *lock(&shared) = extensions;
            result
        })
    }
}

fn lock(extensions: &Mutex<Extensions>) -> MutexGuard<'_, Extensions> {
    unpoisoned(extensions.lock())
}
