//! `cargo +nightly fuzz run file`: any text as a policy in a file.
#![no_main]

#[path = "../checks/file.rs"]
mod file;

libfuzzer_sys::fuzz_target!(|text: &str| file::check(text));
