//! The project itself: what it is built with, what of it is public, and its pages.

mod dependencies;
mod documents;
mod public_api;
