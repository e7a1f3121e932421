//! Work items: what a store keeps of one, how it failed, and the time, text and JSON that both are
//! written with.

pub(crate) mod clock;
pub(crate) mod json;
pub mod sanitize;
pub(crate) mod signature;
pub(crate) mod one_or_many;
pub(crate) mod output;
pub(crate) mod failure;
pub(crate) mod context;
pub(crate) mod priority;
pub(crate) mod record;
pub(crate) mod lease;
pub(crate) mod alteration;
pub(crate) mod summary;
