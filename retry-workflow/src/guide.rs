//! Pages about running jobs.

/// When and how to move a job from one machine to many, and what changes.
///
#[doc = include_str!("guide/machines.md")]
pub mod machines {}
