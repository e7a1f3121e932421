//! Retry policies as data, with their rules and their arithmetic.
//!
//! Pure and `const`, without the standard library or dependencies by default. The macro uses it to
//! check literals at compile time, the runtime obeys it, and files are parsed into it (feature
//! `serde`).
//!
//! Users depend on `retry-runtime`, which re-exports all of this.
//!
//! ```
//! use core::time::Duration;
//! use retry_rules::{Backoff, Jitter, Policy};
//!
//! const HTTP: Policy = Policy::new()
//!     .attempts(5)
//!     .backoff(Backoff::Exponential { base: 2.0 })
//!     .jitter(Jitter::Proportional(0.3))
//!     .budget(Duration::from_secs(300));
//!
//! assert!(HTTP.validate().is_ok());
//! assert_eq!(HTTP.wait(3), Duration::from_secs(4));
//! ```
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Fields of settings are deprecated for literals from outside.
#![allow(deprecated)]

#[cfg(feature = "std")]
extern crate std;

mod accessors;
mod partial_debug;
mod conversion;
mod policy;
mod breaker;
mod quota;
mod rules;
#[doc(hidden)]
pub mod history;
#[cfg(feature = "humantime")]
pub mod duration;
#[cfg(feature = "suggest")]
#[doc(hidden)]
pub mod foreign_names;
#[cfg(feature = "suggest")]
#[doc(hidden)]
pub mod matchers;
#[cfg(feature = "suggest")]
#[doc(hidden)]
pub mod suggest;
#[cfg(feature = "serde")]
pub mod file;

// In reading order: the parts of a policy, the other settings, the rules.
pub use policy::backoff::Backoff;
pub use policy::bound::Bound;
pub use policy::jitter::Jitter;
pub use policy::{Attempts, Policy};

pub use breaker::{BreakerConfig, HalfOpen, SlowCalls, Window};
pub use quota::QuotaConfig;

pub use rules::field::{Field, Fields};
pub use rules::invalid::Invalid;
pub use rules::messages::Style;
#[doc(hidden)]
pub use rules::messages::{Value, Values};
#[doc(hidden)]
pub use rules::options;
pub use rules::table::{Rule, Rules};
