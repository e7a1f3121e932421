//! `cargo +nightly fuzz run attribute`: any text as the options of `#[retry( … )]`.
#![no_main]
// The macro's modules are linted in their own crate; not all of them are called here.
#![allow(dead_code, unreachable_pub, unused_imports, clippy::all, clippy::pedantic)]

#[path = "../checks/attribute.rs"]
mod attribute;
#[path = "../../tests/macros.rs"]
mod macros;

use macros::*;

libfuzzer_sys::fuzz_target!(|text: &str| attribute::check(text));
