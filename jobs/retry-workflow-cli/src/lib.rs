//! The `retry-workflow` command: workflow files of shell commands, run as jobs that survive their
//! process.
//!
//! ```console
//! $ cargo install retry-workflow-cli
//! $ retry-workflow run import.yml
//! ```
//!
//! The [`guide`] has a page for each subject of workflow files.
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
// Documentation only.
#[cfg(all(doc, not(doctest)))]
pub mod guide;

pub use command::main;
pub use file::{FileError, WorkflowFile};
