//! The three forms in which a policy stands in a file (feature `serde`).
//!
//! - **command style**, the form of [`Policy`](crate::Policy) itself: `attempts`, `backoff`,
//!   `initial_delay`, `max_delay`, `jitter`, `jitter_factor`, `retry_budget`,
//!   and also `deadline` and `timeout`;
//! - **workflow style**, [`WorkflowStyle`]: `max_attempts`, and a `backoff`
//!   that holds its delays itself (`delay`, `initial`, `increment`, `multiplier`);
//! - **task style**, [`TaskStyle`]: `max_retries` (retries, not attempts),
//!   `retry_delay` and `max_retry_delay` in seconds.
//!
//! Durations are humantime strings (`"30s"`) or `{ secs, nanos }`. Unknown keys
//! are errors, and every policy passes the rules of [`Rule`](crate::Rule).
//!
//! A policy is `Copy` and may stand in a `const`, so custom delays that come
//! from a file are kept for the life of the program, each list once.

mod attempts;
mod backoff;
mod jitter;
mod span;

mod invalid_keys;
mod draft;
mod map_only;

mod command;
mod workflow;
mod task;

pub use command::CommandKeys;
pub use invalid_keys::InvalidKeys;
pub use map_only::from_map;
pub use span::Span;
pub use task::{TaskKeys, TaskStyle};
pub use workflow::{WorkflowKeys, WorkflowStyle};

/// For overrides.
#[doc(hidden)]
pub use command::{KEYS, NotHere};
#[doc(hidden)]
pub use draft::Draft;
