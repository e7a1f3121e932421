//! The pages as a visitor requests them; without a server, except for clients that never read.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;
mod reading;
mod hostile;
mod safety;
mod actions;
mod live;
mod policies;
mod team;
mod trouble;
