//! Settings in files (feature `serde`): a policy in three forms, a breaker, a quota.
//!
//! - **command style**, the form of [`Policy`](crate::Policy) itself: the options of the attribute
//!   that set a policy, with `retry_budget` for `budget`, and `jitter_factor` and `max_hedges`;
//! - **workflow style**, [`WorkflowStyle`]: the same without `deadline`, `timeout` and `hedge`, but
//!   with `max_attempts`, and a `backoff` that contains its delays (`delay`, `initial`, `increment`,
//!   `multiplier`);
//! - **task style**, [`TaskStyle`]: `max_retries` (retries, not attempts), `retry_delay` and
//!   `max_retry_delay` in seconds, and `max_retry_after`.
//!
//! A [`BreakerConfig`](crate::BreakerConfig) has the settings of `breaker(…)` in the attribute as
//! its keys, and a [`QuotaConfig`](crate::QuotaConfig) has the settings of its builder.
//!
//! Durations are humantime strings (`"30s"`) or `{ secs, nanos }`, and a limit may also be
//! `unlimited`. Unknown keys are errors, and all settings must obey the rules of
//! [`Rule`](crate::Rule).
//!
//! A policy is `Copy` and can be used in a `const`, so custom delays from a file are kept until the
//! program ends, each distinct list once.

mod scalar;

mod attempts;
mod backoff;
mod jitter;
mod span;
mod bound;

mod invalid_keys;
mod draft;
mod map_only;

mod config_keys;
mod command;
mod known_keys;
mod workflow;
mod task;

mod breaker;
mod quota;

pub use command::CommandKeys;
pub use invalid_keys::InvalidKeys;
pub use map_only::from_map;
pub use span::Span;
pub use task::{TaskKeys, TaskStyle};
pub use workflow::{WorkflowKeys, WorkflowStyle};

/// For overrides, and schemas of files.
#[doc(hidden)]
pub use backoff::CURVES;
#[doc(hidden)]
pub use command::{KEYS, NotHere, OnlyForCommands};
#[doc(hidden)]
pub use draft::Draft;
#[doc(hidden)]
pub use known_keys::{Keys, from_known_keys};
#[doc(hidden)]
pub use scalar::{MapFrom, Scalar, WrittenNumber};
