//! What an annotated function does, option by option, on virtual time.
//!
//! A single program, to link only once.

mod abort_on;
mod attempts;
mod backoff;
mod block;
mod breaker;
mod breaker_on;
mod budget;
mod cancel;
mod cancellation;
mod classify;
mod clone;
mod config;
mod context;
mod deadline;
mod error;
mod events;
mod fairness;
mod hedge;
mod jitter;
mod listeners;
mod map_error;
mod max_elapsed;
mod metrics;
mod name;
mod nested;
mod no_timer;
mod on_failure;
mod on_retry;
mod policy;
mod quota;
mod retrier;
mod ruling;
mod run_time;
mod retry_after;
mod retry_on;
mod returns;
mod sites;
mod stats;
mod stop_and_wait;
mod support;
mod sync;
mod timeout;
mod when_open;
