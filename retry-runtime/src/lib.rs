//! Retries that are checked when your program is compiled.
//!
//! ```
//! use retry_runtime::retry;
//! # use std::io::Error as ApiError;
//! # async fn get(id: u64) -> Result<u64, ApiError> { Ok(id) }
//!
//! #[retry(attempts = 5, jitter, budget = "5m", retry_on = [network, timeout])]
//! async fn fetch(id: u64) -> Result<u64, ApiError> {
//!     get(id).await
//! }
//! ```
//!
//! One dependency, one attribute: [`retry`](macro@retry). A policy that cannot
//! work does not compile. [`policy!`] makes one to share, [`Retrier`] retries
//! closures without a macro, [`CircuitBreaker`] and [`RetryQuota`] protect what
//! is called.
//!
//! # Features
//!
//! | feature | default | what it gives |
//! | --- | --- | --- |
//! | `macros` | yes | the attribute and `policy!` |
//! | `pattern` | yes | `pattern("…")`: regular expressions over an error's text |
//! | `tracing` | yes | events through the `tracing` facade |
//! | `serde` | | policies and `RetryConfig` from files |
//! | `reqwest`, `hyper`, `tonic` | | knows the errors of these crates by type |
//!
//! # Runtime
//!
//! Waits and timeouts use tokio's timer: an async function with a policy runs
//! in a tokio runtime whose time is enabled, or panics at its first wait, as
//! `tokio::time::sleep` does.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attempt;
mod blocking;
mod breaker;
pub mod classify;
mod clock;
#[cfg(feature = "serde")]
mod config;
mod cut;
mod error;
mod events;
mod kept;
mod lends;
pub mod matchers;
mod outcome;
#[cfg(feature = "pattern")]
mod pattern;
mod plan;
mod probe;
mod quota;
mod random;
mod refuse;
mod retrier;
mod session;
mod shape;
mod site;
mod sync;
mod transition;

/// What expansions call into; no part of the public interface.
#[doc(hidden)]
#[allow(missing_docs)]
#[path = "private.rs"]
pub mod __private;

pub(crate) use __private as private;

pub use attempt::Attempt;
pub use breaker::{CircuitBreaker, Permit, Rejected, Snapshot};
pub use classify::{Class, Classify};
#[cfg(feature = "serde")]
pub use config::{OnFailure, RetryConfig};
pub use error::{Interrupted, Reason, RetryError};
pub use events::RetryEvent;
pub use outcome::Missing;
pub use quota::RetryQuota;
pub use retrier::{Retrier, Shared};
#[cfg(feature = "serde")]
pub use retry_policy::file;
pub use retry_policy::{
    Attempts, Backoff, BreakerConfig, Invalid, Jitter, Policy, QuotaConfig, SlowCalls, Window,
};

pub use transition::{Cause, State, Transition};

#[cfg(feature = "macros")]
#[doc = include_str!("attribute.md")]
pub use retry_macros::retry;

/// A policy, checked when it is compiled, for a `const` or anywhere else.
///
/// Takes the options of [`retry`](macro@retry) that say how often, how long to
/// wait, and when to give up early.
///
/// ```
/// use retry_runtime::{Policy, policy, retry};
///
/// const HTTP: Policy = policy!(attempts = 5, backoff = exponential(base = 2.0), jitter, budget = "5m");
///
/// #[retry(policy = HTTP, attempts = 2)]
/// async fn fetch() -> Result<u32, String> {
///     Ok(7)
/// }
/// ```
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! policy {
    ($($options:tt)*) => {
        $crate::__private::policy!(crate = $crate, $($options)*)
    };
}
