//! The cases of `tests/ui`, each with what its messages propose in place of the mistake.
#![allow(unused, deprecated, async_fn_in_trait)]

include!(concat!(env!("CURES"), "/modules.rs"));

fn main() {}
