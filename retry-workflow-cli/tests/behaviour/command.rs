//! Runs the real command.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// In this folder, with nobody at a terminal.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_retry-workflow"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("RETRY_WORKFLOW_STORE")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}
