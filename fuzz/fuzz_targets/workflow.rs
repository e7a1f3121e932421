//! `cargo +nightly fuzz run workflow`: any text as a workflow file.
#![no_main]

#[path = "../checks/workflow.rs"]
mod workflow;

libfuzzer_sys::fuzz_target!(|text: &str| workflow::check(text));
