//! Tests of the store on a real Postgres server.
//!
//! A single program with one server, which it starts itself unless `RETRY_TEST_POSTGRES` names one.
//! Tests start in the order of their names: `after_failures` and `between_processes` wait longest, and
//! come first.

mod after_failures;
#[cfg(feature = "fleet")]
mod between_processes;
mod cancelled;
mod changed_input;
mod contract;
mod fixture;
#[cfg(feature = "fleet")]
mod fleet;
mod limits;
mod migrations;
mod plans;
mod pooler;
mod postponed;
mod processes;
mod property;
mod proxy;
mod redriven;
mod tls;
mod waking;
mod windows;
