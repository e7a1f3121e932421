//! The macro's code, called as a library: what it expands to, what it must never do, and the
//! documentation of its options.
//!
//! A proc-macro crate cannot be called as a library, so its modules are compiled into this program.

// Linted in their own crate, with its minimum version of Rust.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
#[path = "../../macros.rs"]
mod macros;

// The modules refer to one another through the root of their crate.
use macros::*;

mod corpus;
mod documentation;
mod messages;
mod never_panics;
mod without_testing;
