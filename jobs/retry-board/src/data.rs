//! The data of the pages, read from a store or from this process: the same for people and for
//! programs, and of limited size.

pub(crate) mod bounded;
pub(crate) mod item;
pub(crate) mod job;
pub(crate) mod samples;
pub(crate) mod jobs;
pub(crate) mod letters;
pub(crate) mod policies;
