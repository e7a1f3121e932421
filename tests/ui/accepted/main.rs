//! Code that must compile, and without a warning: each file denies those of the compiler
//! and of clippy. `fixtures/edition-2021` compiles the same files in that edition.

mod cures;
mod hostile_names;
mod no_prelude;
mod options;
mod places;
mod retriers;
mod send;
mod shared_arguments;
mod signatures;
mod spans;
mod successes;
mod traits;
mod unusual;
