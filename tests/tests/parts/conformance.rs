//! The cases in `tests/data`, which another implementation could share.

mod backoff;
mod budget;
mod matchers;
