//! The pages as a visitor asks for them: without a server, but for those who never read.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;
mod reading;
mod hostile;
mod safety;
mod actions;
mod live;
mod policies;
mod trouble;
