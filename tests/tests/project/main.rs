//! The project itself: its dependencies, its public API, and its pages.

mod beside;
mod dependencies;
mod documents;
mod features;
mod named_files;
mod plan;
mod public_api;

use std::path::{Path, PathBuf};

/// The folder of the project.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
