//! Pages about running jobs.

/// Moving a job from one machine to many: when, how, and the differences.
///
#[doc = include_str!("guide/machines.md")]
pub mod machines {}
