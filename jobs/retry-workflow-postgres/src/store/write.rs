//! Changing items: adding, claiming, settling, re-driving, skipping and removing them.

pub(crate) mod add;
pub(crate) mod claim;
pub(crate) mod alter;
pub(crate) mod remove;
pub(crate) mod settle;
