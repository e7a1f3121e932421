//! The cases in `tests/data`, which can be shared with other implementations.

mod backoff;
mod budget;
mod corpus;
mod matchers;
mod texts;
