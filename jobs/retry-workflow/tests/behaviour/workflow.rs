//! Jobs of many items, on virtual time, in memory.

mod support;
mod retries;
mod begun;
mod error_policy;
mod stopping;
mod workers;
mod priorities;
mod rates;
mod schedule;
mod input;
mod mistakes;
