//! What pages show, read from a store or from the process: the same for people and for machines,
//! and bounded.

pub(crate) mod bounded;
pub(crate) mod item;
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod letters;
pub(crate) mod policies;
