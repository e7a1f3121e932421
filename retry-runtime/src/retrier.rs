//! [`Retrier`]: the same retries without a macro, for closures.
//!
//! A retrier is created once and shared: it is cheap to clone, and can be a `static` or a field.
//! Without closures it serves every type of error; with closures, the type that they are about,
//! which is then part of its own type.
//!
//! ```
//! use retry_runtime::matchers::{network, server_error};
//! use retry_runtime::retrier::ForError;
//! use retry_runtime::{Policy, RetryError, Retrier};
//! use std::io::Error;
//! use tokio::net::TcpStream;
//!
//! struct Client {
//!     address: String,
//!     reads: Retrier,
//!     writes: Retrier<ForError<Error>>,
//! }
//!
//! impl Client {
//!     fn new(address: String, policy: Policy, marker: String) -> Self {
//!         Self {
//!             address,
//!             reads: Retrier::new(policy).retry_on([network, server_error]),
//!             writes: Retrier::new(policy)
//!                 .when(move |error: &Error| error.to_string().contains(&marker)),
//!         }
//!     }
//!
//!     async fn connect(&self) -> Result<TcpStream, RetryError<Error>> {
//!         self.reads.run(|| TcpStream::connect(&self.address)).await
//!     }
//! }
//! ```
//!
//! # Which errors
//! A retrier reads errors as the attribute does: any `Error + 'static`, `anyhow::Error`, boxed
//! errors and texts. An error that implements [`Classify`](crate::Classify) determines its own
//! class if the retrier is configured with [`Retrier::classified`]. For an error that can be
//! neither read nor classified, there is [`opaque`](Retrier::opaque). Both come before closures.

// The public methods, in the order of the documentation.
mod options;
mod calls;
pub(crate) mod durable;
#[cfg(feature = "serde")]
pub(crate) mod config;
// The parts of these methods.
mod decider;
mod values;
pub(crate) mod attempts;
mod operation;
mod listener;
mod settings;
mod run;

use core::fmt;

use self::settings::Common;

pub use self::decider::{Classified, Decider, ForError, Opaque, Readable, ReadsClass, ReadsError};
#[cfg(feature = "tower")]
pub(crate) use self::operation::Operation;
pub use self::run::Run;
#[cfg(feature = "tower")]
pub(crate) use self::values::FailedValue;
pub use self::values::{AllSucceed, RetryOnValue, Values};
pub use crate::classify::fault::Fault;

/// Reachable only for the compiler: its messages give the short name of a public item, and the
/// whole path of any other.
#[doc(hidden)]
pub use self::run::attempt_future::AttemptFuture;
#[doc(hidden)]
pub use self::run::blocking::NeedsCall;
#[doc(hidden)]
pub use crate::__private::{
    AsBreaker, AsQuota, Cancel, Continue, Fallback, FallbackFunction, FallbackNow, HasClone,
    Interruptible, IntoError, Kept, MapsError, Needs, NeedsOfSelf, NextAttempt, NotAwaited,
    Outcome, call_fallback, call_on_retry, hint, is, is_error, kind_of, map_error,
};
#[doc(hidden)]
pub use crate::call::cancel::CancelSignal;
#[doc(hidden)]
pub use crate::call::runtime::{Delay, MaybeBound, Number, WholeNumber, policy_source::AsPolicy};
#[doc(hidden)]
pub use crate::outcome::{Nothing, SyncResult};
#[doc(hidden)]
pub use crate::protect::{breakers::FamilyKey, shared::IntoShared};

/// Retries a closure with a policy known at runtime.
///
/// It makes the same decisions and reports the same events as the attribute. It always reports how
/// a call ended: its error is a [`RetryError`](crate::RetryError).
///
/// `D` reads errors, `V` decides which values are failures; both have defaults.
///
/// ```
/// use retry_runtime::matchers::{network, timeout};
/// use retry_runtime::{Policy, RetryError, Retrier};
/// use tokio::net::TcpStream;
///
/// async fn connect(address: &str) -> Result<TcpStream, RetryError<std::io::Error>> {
///     Retrier::new(Policy::new().attempts(5))
///         .retry_on([network, timeout])
///         .run(|| TcpStream::connect(address))
///         .await
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// #     let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
/// #     connect(&server.local_addr().unwrap().to_string()).await.unwrap();
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a retrier does nothing until it runs something"]
pub struct Retrier<D = Readable, V = AllSucceed> {
    pub(crate) common: Common<V>,
    decider: D,
}

retry_rules::partial_debug!([D: fmt::Debug, V: fmt::Debug] Retrier<D, V>, |self| {
    name: &self.common.settings.name,
    policy: &self.common.settings.policy,
    lists: &self.common.settings.lists,
    decider: &self.decider,
    values: &self.common.values,
    breaker: &self.common.settings.breaker.as_ref().map(|breaker| breaker.as_ref().name()),
    quota: &self.common.settings.quota.as_ref().map(|quota| quota.as_ref().name()),
});
