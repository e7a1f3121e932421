//! The function that every contender calls: ready at once, not inlined, and failing for one id.

use std::future::{Ready, ready};
use std::hint::black_box;
use std::io::{Error, ErrorKind, Result};

/// The id for which the call always fails.
pub const REFUSED: u64 = u64::MAX;

/// The result of a contender's attempt.
pub type Answer = Ready<Result<u64>>;

/// The id itself, or an error. Neither allocates.
#[inline(never)]
pub fn answer(id: u64) -> Answer {
    ready(if black_box(id) == REFUSED {
        Err(Error::from(ErrorKind::ConnectionRefused))
    } else {
        Ok(id)
    })
}
