//! The objects that calls share: circuit breakers and quotas, and the ways to borrow one.

mod stamp;
pub(crate) mod breaker;
pub(crate) mod breakers;
pub(crate) mod lend;
pub(crate) mod quota;
pub(crate) mod shared;
