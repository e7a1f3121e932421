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
//! One dependency, one attribute. A policy that cannot work does not compile. The
//! [`guide`] has a page for each task.
//!
//! # Where to begin
//!
//! | to | use |
//! | --- | --- |
//! | retry a function | [`#[retry]`](macro@retry) |
//! | retry a closure, or with a policy that is known at run time | [`Retrier`] |
//! | share a policy between functions | [`policy!`], [`Policy`] |
//! | choose which failures to retry | `retry_on`: [`matchers`], or [`Classify`] for your own error |
//! | know how a call ended | return [`RetryError`] |
//! | stop calling a dependency that does not respond | [`CircuitBreaker`]; [`Breakers`] for one per host |
//! | bound the load that retries add | [`RetryQuota`] |
//! | see what is retried | [`sites`], [`report`], [`on_event`], the features `tracing` and `metrics` |
//! | change policies while the program runs | `Overrides`, with the feature `overrides` |
//! | test code that retries | `testing`, with the feature of that name |
//!
//! # Features
//!
//! | feature | default | what it gives |
//! | --- | --- | --- |
//! | `macros` | yes | the attribute and `policy!` |
//! | `pattern` | yes | `pattern("…")`: regular expressions over an error's text |
//! | `tracing` | yes | events through the `tracing` facade |
//! | `metrics` | | counters, a histogram and gauges through the `metrics` facade |
//! | `serde` | | policies and `RetryConfig` from files |
//! | `overrides` | | `Overrides`: policies changed by name while the program runs |
//! | `reqwest`, `hyper`, `tonic`, `tokio-postgres`, `sqlx-0_8`, `sqlx-0_9`, `redis`, `lettre`, `tungstenite` | | knows the errors of these crates by type |
//! | `http` | | `Retry-After`, and failed responses as errors: `retry_after`, `http::check`; enabled by `reqwest` and `tungstenite` |
//! | `tower` | | `tower::RetryLayer`, for tower services |
//! | `testing` | | `testing`: a kit for tests of code that retries |
//!
//! # Runtime
//!
//! Waits and timeouts use tokio's timer: an async function with a policy needs a tokio
//! runtime with time enabled, or panics at its first wait, as `tokio::time::sleep` does.
#![cfg_attr(docsrs, feature(doc_cfg))]
// A flag for the model checker, which readers cannot turn on.
#![cfg_attr(docsrs, doc(auto_cfg(hide(retry_loom))))]

mod base;
mod outcome;
mod event;
mod site;
pub mod classify;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "testing")]
mod test_hooks;
mod observe;
mod protect;
#[cfg(feature = "overrides")]
mod overrides;
mod call;
pub mod retrier;
#[cfg(feature = "tower")]
pub mod tower;
#[cfg(feature = "testing")]
pub mod testing;
// Only for reading: `tests` compiles its examples, with the crates that they use.
#[cfg(all(doc, not(doctest)))]
pub mod guide;

/// Code of an expansion that is for tests only. The macro may have been built with its feature
/// `testing`, for another part of the same build, while this crate has not.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "testing")]
macro_rules! __retry_for_tests {
    ($($tokens:tt)*) => { $($tokens)* };
}

#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "testing"))]
macro_rules! __retry_for_tests {
    ($($tokens:tt)*) => {};
}

/// What expansions call; not part of the public interface.
#[doc(hidden)]
#[allow(missing_docs)]
#[path = "private.rs"]
pub mod __private;

// In reading order: the policy, the call, its error, what protects it, what reports on it.
// `doc(inline)`: documented here as well as in its public module.
#[cfg(feature = "serde")]
pub use retry_rules::file;
pub use retry_rules::{
    Attempts, Backoff, Bound, BreakerConfig, Jitter, Policy, QuotaConfig, SlowCalls, Window,
};
pub use retry_rules::{Field, Fields, Invalid, Rule, Rules, Style};

pub use call::attempt::Attempt;
#[doc(inline)]
pub use retrier::Retrier;
#[cfg(feature = "serde")]
pub use retrier::config::{OnFailure, RetryConfig, RetryConfigKeys};
#[doc(inline)]
pub use retrier::durable;

pub use outcome::Missing;
pub use outcome::error::{Interrupted, Reason, RetryError};

#[doc(inline)]
pub use classify::matchers;
#[doc(inline)]
pub use classify::{Class, Classify};

pub use base::name::Name;
pub use protect::breaker::{
    BreakerOrder, CircuitBreaker, Outcomes, OwnedPermit, Permit, Rejected, Snapshot,
};
pub use protect::breakers::Breakers;
pub use protect::quota::{RetryQuota, Share};
pub use protect::shared::Shared;

pub use event::Event;
pub use event::retry_event::RetryEvent;
pub use event::transition::{Cause, State, Transition};
#[cfg(feature = "metrics")]
pub use observe::metrics;
#[cfg(not(retry_loom))]
pub use observe::{Listening, on_event};

pub use site::Site;
#[cfg(feature = "macros")]
pub use site::registry::{Report, report, sites};
pub use site::stats::Stats;

#[cfg(feature = "overrides")]
pub use overrides::{Overrides, OverridesError, with_overrides, with_overrides_sync};

#[cfg(feature = "macros")]
#[doc = include_str!("attribute.md")]
pub use retry_macros::retry;

/// Creates a policy that is checked at compile time, in a `const` or anywhere else.
///
/// Takes those options of [`retry`](macro@retry) that set the number of attempts, the waits, and
/// the limits.
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
