//! Pages about running jobs.

/// When to move a job from one machine to many, how, and what changes.
///
#[doc = include_str!("guide/machines.md")]
pub mod machines {}
