//! The parts that calls are made of, each by itself: what it promises, and the
//! mistakes that others made. On virtual time, but for races among real threads.
//!
//! One program, so that linking is paid for once.

mod breaker;
mod conformance;
mod differential;
mod durable;
mod properties;
mod quota;
mod quota_simulation;
