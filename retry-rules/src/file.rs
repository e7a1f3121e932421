//! Settings in files (feature `serde`): a policy, a breaker, a quota.
//!
//! A [`Policy`](crate::Policy) has the options of the attribute that set one as its keys, with
//! `retry_budget` for `budget`, and `jitter_factor` and `max_hedges`. A
//! [`BreakerConfig`](crate::BreakerConfig) has the settings of `breaker(…)`, and a
//! [`QuotaConfig`](crate::QuotaConfig) the settings of its builder.
//!
//! Durations are humantime strings (`"30s"`) or `{ secs, nanos }`, and a limit may also be
//! `unlimited`. Unknown keys are errors, and all settings must obey the rules of
//! [`Rule`](crate::Rule).
//!
//! A policy is `Copy` and can be used in a `const`, so custom delays from a file are kept until the
//! program ends, each distinct list once.

mod reader;
mod value;
mod span;
mod invalid_keys;
mod config;
mod draft;

use std::sync::LazyLock;
use std::vec::Vec;

pub use invalid_keys::InvalidKeys;
pub use span::Span;

/// For overrides, and the files of jobs.
#[doc(hidden)]
pub use self::{
    draft::{Draft, write},
    reader::{Keys, first_name, read},
    span::Seconds,
    value::CURVES,
};

/// The keys of a policy, with all their names.
#[doc(hidden)]
pub static KEYS: LazyLock<Vec<&'static str>> = LazyLock::new(config::all_keys::<crate::Policy>);
