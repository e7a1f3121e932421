//! A member at work: the single task that talks to the hub, and what it does to the breakers of its
//! process. No call ever waits for it.

pub(crate) mod contact;
pub(crate) mod shared_breaker;
pub(crate) mod task;
