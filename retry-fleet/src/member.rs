//! A member at work: the one task that speaks with the hub, and what it does to the breakers
//! and buckets of its process. No call ever waits for it.

pub(crate) mod contact;
pub(crate) mod shared_breaker;
pub(crate) mod shared_quota;
pub(crate) mod task;
