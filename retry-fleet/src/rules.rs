//! What a fleet agrees on: data that a hub keeps, and the rules by which it changes. Pure: a
//! hub brings the time and the memory, a member does what follows.

pub(crate) mod breaker_record;
pub(crate) mod lending;
pub(crate) mod member_id;
pub(crate) mod quorum;
pub(crate) mod timing;
