//! Nothing here: the tests are in `tests/`. But the code in the README is compiled.

/// Its code blocks are doctests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
