//! Settings in files (feature `serde`): a policy in three forms, a breaker, a quota.
//!
//! - **command style**, the form of [`Policy`](crate::Policy) itself: `attempts`, `backoff`,
//!   `initial_delay`, `max_delay`, `first_delay`, `jitter`, `jitter_factor`, `retry_budget`, and
//!   also `deadline`, `max_elapsed`, `max_retry_after` and `timeout`;
//! - **workflow style**, [`WorkflowStyle`]: `max_attempts`, and a `backoff` that contains its
//!   delays (`delay`, `initial`, `increment`, `multiplier`), with `first_delay`, `max_delay`, the
//!   jitter, `retry_budget`, `max_elapsed` and `max_retry_after` beside it;
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

mod float;

mod attempts;
mod backoff;
mod jitter;
mod span;
mod bound;

mod invalid_keys;
mod draft;
mod map_only;

mod command;
mod workflow;
mod task;

mod non_default;
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
pub use float::{MapFrom, float_or_map};
