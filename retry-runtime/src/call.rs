//! One call, from its first attempt to its end. [`session`] decides what happens after an attempt;
//! the rest is what a call carries: its context, its timer, its last failure.

// Its types are public for expansions, and nothing shows them.
#![allow(missing_debug_implementations)]

pub(crate) mod attempt;
pub(crate) mod attempt_limit;
pub(crate) mod async_sleep;
pub(crate) mod blocking;
pub(crate) mod last_failure;
pub(crate) mod nested;
pub(crate) mod not_awaited;
pub(crate) mod call_context;
pub(crate) mod call_state;
pub(crate) mod driver;
pub(crate) mod cancel;
pub(crate) mod verdict;
pub(crate) mod hedge;
pub(crate) mod session;
pub(crate) mod attempt_result;
pub(crate) mod runtime;
