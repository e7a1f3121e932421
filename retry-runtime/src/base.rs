//! The foundation of the crate: shared memory, time, randomness, names, classes of failures, words of
//! texts. All reads of the clock and all random draws happen in here.

pub(crate) mod cache_line;
pub(crate) mod class;
pub(crate) mod clock;
pub(crate) mod const_panic;
pub(crate) mod first;
pub(crate) mod full_text;
pub(crate) mod hint;
#[cfg(feature = "macros")]
pub(crate) mod linked;
pub(crate) mod listeners;
pub(crate) mod name;
pub(crate) mod quota_code;
pub(crate) mod random;
pub(crate) mod sealed;
pub(crate) mod sync;
pub(crate) mod text;
pub(crate) mod timer;
