//! The rules of a fleet: the data that a hub keeps, and how it changes. All of it is pure: a hub
//! provides time and storage, and a member acts on the results.

pub(crate) mod fleet_breaker;
pub(crate) mod member_id;
pub(crate) mod quorum;
pub(crate) mod timing;
