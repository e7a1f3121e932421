//! The `retry-workflow` command: workflow files of shell commands, run as jobs that survive their
//! process.
//!
//! ```console
//! $ cargo install retry-workflow-cli
//! $ retry-workflow run import.yml
//! ```
//!
//! As a library, this crate has [`main`], and the reader of workflow files for programs that check
//! them: [`WorkflowFile`].

mod terminal;
mod yaml;
mod template;
mod explain;
mod steps;
mod file;
mod runner;
mod command;

pub use command::main;
pub use file::{FileError, WorkflowFile};
