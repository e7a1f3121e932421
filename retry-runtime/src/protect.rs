//! What calls share: circuit breakers and quotas, and how a call gets hold of one.

mod stamp;
pub(crate) mod breaker;
pub(crate) mod breakers;
pub(crate) mod lend;
pub(crate) mod quota;
pub(crate) mod shared;
