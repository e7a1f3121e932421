//! Tests of the library: in memory and on virtual time, except for stores that threads and
//! processes share.
//!
//! A single program, so that linking is paid for once.

#[macro_use]
mod forward;
mod cancelled;
mod changed_input;
mod contract;
mod dead_letters;
mod graph;
mod graph_property;
mod job_copy;
mod limits;
mod lost_leases;
mod operator;
mod own_work;
mod postponed;
mod redriven;
mod shortage;
mod slow_down;
mod stopping;
mod store_file;
#[cfg(feature = "sqlite")]
mod store_model;
mod store_property;
mod store_sharing;
mod uncounted;
mod waking;
mod windows;
mod workflow;
