//! The project itself: its dependencies, its public API, and its pages.

mod beside;
mod dependencies;
mod documents;
mod features;
mod named_files;
mod plan;
mod public_api;
