//! The behaviour of an annotated function, option by option, on virtual time.
//!
//! A single program, to link only once.

mod abort_on;
mod attempts;
mod backoff;
mod block;
mod breaker;
mod breaker_on;
mod budget;
mod busy_body;
mod cancel;
mod cancellation;
mod classify;
mod clone;
mod combined;
mod config;
mod context;
mod deadline;
mod error;
mod events;
mod fairness;
mod hedge;
mod history;
mod hold;
mod jitter;
mod listeners;
mod log;
mod map_error;
mod max_elapsed;
mod max_retry_after;
mod metrics;
mod name;
mod nested;
// With it, there is a timer: `tests/any-runtime` waits on it.
#[cfg(not(feature = "any-runtime"))]
mod no_timer;
mod on_failure;
mod on_retry;
mod outcome_lifetime;
mod policy;
mod quota;
mod retrier;
mod ruling;
mod runtime;
mod retry_after;
mod retry_on;
mod returns;
mod share;
mod sites;
mod stages;
mod stats;
mod stop_and_wait;
mod support;
mod sync;
mod timeout;
mod uncounted;
mod wait_by;
mod wait_in_text;
mod when_open;
mod when_open_retrier;
