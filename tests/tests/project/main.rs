//! The project itself: its dependencies, its features, its plan, its pages, and its
//! files for a release.

mod beside;
mod checks;
mod comments;
mod dependencies;
mod distribution;
mod documents;
mod features;
mod foreign_crates;
mod named_files;
mod options;
mod plan;
mod snippets;
mod weight;

use std::path::{Path, PathBuf};

/// The folder of the project.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
