//! The parts of which calls are made, each on its own: their guarantees, and the mistakes that
//! others made. On virtual time, except for races, which use real threads.
//!
//! A single program, to link only once.

mod breaker;
mod conformance;
mod durable;
mod hedging;
mod hold_simulation;
mod properties;
mod quota;
mod quota_simulation;
