//! What the machine gives: shared memory, time, chance; and what all else is named by.
//! Everything that reads a clock or draws a random number does so in here.

pub(crate) mod clock;
pub(crate) mod const_panic;
pub(crate) mod first;
pub(crate) mod full_text;
pub(crate) mod listeners;
pub(crate) mod name;
pub(crate) mod random;
pub(crate) mod sync;
