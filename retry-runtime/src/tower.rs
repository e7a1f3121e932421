//! [`RetryLayer`]: a [`Retrier`](crate::Retrier) for tower services.
//!
//! A layer is created from a retrier with all its settings: policy, matchers, breaker, quota,
//! listeners. Calls through the layer are calls of that retrier.
//!
//! ```
//! use retry_runtime::matchers::{network, rate_limit, server_error};
//! use retry_runtime::tower::RetryLayer;
//! use retry_runtime::{Policy, RetryError, Retrier};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! # #[derive(Clone)]
//! # struct Get(&'static str);
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! # let client = service_fn(|Get(path): Get| async move { Ok::<_, std::io::Error>(path) });
//! let retrier = Retrier::new(Policy::new().attempts(4))
//!     .retry_on([network, server_error, rate_limit])
//!     .name("catalogue");
//!
//! let service = ServiceBuilder::new()
//!     .map_err(RetryError::boxed) // where a `Box<dyn Error + Send + Sync>` is wanted
//!     .layer(RetryLayer::new(retrier))
//!     .service(client);
//! assert_eq!(service.oneshot(Get("/tea")).await?, "/tea");
//! # Ok(())
//! # }
//! ```
//!
//! # Repeated requests
//! All requests, through `Clone`. A layer cannot know whether it is harmless to send a request
//! twice: [`RetryLayer::clone_request`] determines which requests are sent only once.
//!
//! A request that is not `Clone`, such as one with a streamed body, needs
//! [`RetryLayer::clone_request`]. Without it, the service has no `Service` methods, and rustc reports
//! E0599: "the method `call` exists … but its trait bounds were not satisfied".
//!
//! # Failed responses
//! No response, until the layer is configured: a "503 Service Unavailable" is an `Ok` to tower.
//! [`RetryLayer::classify_response`] turns responses into failures, which the matchers then judge;
//! [`RetryLayer::retry_response`] picks responses to retry, as
//! [`Retrier::retry_on_value`](crate::Retrier::retry_on_value) does. At the end, the caller gets
//! the last response itself.
//!
//! # Costs
//! A call that succeeds at its first attempt clones the service once and the request once. With a
//! breaker, a quota, a time limit or hedges, it makes one allocation, for its future; otherwise
//! none. Services and calls count how many of them refer to the layer, until [`RetryLayer::leak`]
//! keeps it in memory. The request is not cloned for the last attempt that the policy allows; the
//! service is not cloned for further attempts. Before each further attempt, the service is polled
//! for readiness, and `timeout` and `deadline` include that wait. The wait for readiness before
//! the first attempt is the caller's, as with any service, unless there is a breaker or a deadline:
//! then it is part of the call too, and layers above see a service that is always ready. Each hedge
//! clones the request and the service, and does not wait: it is sent if that clone is ready at once.
//!
//! With a breaker or a deadline, which may end a call before it fails again, the last response is
//! kept across the wait, together with what it owns, such as a connection. Without them, it is
//! dropped before the wait.

mod requests;
mod sending;
mod responses;
mod layer;
mod service;
#[cfg(feature = "reqwest-middleware-0_5")]
pub(crate) mod reqwest_middleware;

pub use layer::RetryLayer;
pub use requests::CloneWith;
pub use responses::ClassifyResponse;
pub use service::{RetryFuture, RetryService};
