//! The basics of reading and writing tokens, which all other modules use.

pub(crate) mod errors;
pub(crate) mod grammar;
pub(crate) mod hygiene;
pub(crate) mod search;
pub(crate) mod text;
