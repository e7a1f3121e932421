//! The macro's code, called as a library: what it expands to, what it never does,
//! and what it shows to an editor.
//!
//! A proc-macro crate cannot be called as a library, so that its modules are
//! compiled into this program.

// Linted where they live, for their own minimum version of Rust.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
#[path = "../../macros.rs"]
mod macros;

// They call each other from the root of their crate.
use macros::*;

mod corpus;
mod editor;
mod never_panics;
mod without_testing;
