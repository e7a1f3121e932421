//! The common parts of all options: their names in messages.

pub(crate) mod backoff;
pub(crate) mod breaker;
pub(crate) mod check;
pub(crate) mod hedge;
pub(crate) mod jitter;
pub(crate) mod matcher;
pub(crate) mod settings;
