//! What the machine gives: shared memory, time, chance. Everything that reads a
//! clock or draws a random number does so in here.

pub(crate) mod clock;
pub(crate) mod const_panic;
pub(crate) mod full_text;
pub(crate) mod listeners;
pub(crate) mod random;
pub(crate) mod sync;
