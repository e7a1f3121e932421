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

mod backoff;
mod map_only;
mod span;
mod style;

pub use span::Span;
pub use style::{TaskStyle, WorkflowStyle};

/// For crates that embed a policy among their own keys.
#[doc(hidden)]
pub use map_only::from_map;
#[doc(hidden)]
pub use style::{CommandStyle, Draft, KEYS};
