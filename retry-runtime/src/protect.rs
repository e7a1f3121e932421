//! The objects that calls share: circuit breakers and quotas, and the ways to borrow one.

mod clock_nanos;
pub(crate) mod breaker;
pub(crate) mod breakers;
pub(crate) mod as_breaker;
pub(crate) mod quota;
pub(crate) mod shared;
