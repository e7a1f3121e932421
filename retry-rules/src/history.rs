//! The number of failures that the error of a call keeps: `history = n`.

/// The largest number.
pub const MOST: u32 = 100;

/// Returns what is wrong with this number, or `None` if it is valid.
pub const fn complaint(failures: u32) -> Option<&'static str> {
    if failures == 0 || failures > MOST {
        Some(
            "`history` keeps the last failures of a call, from 1 to 100: write `history = 5`, or \
             leave it out to keep none",
        )
    } else {
        None
    }
}
