//! Words, numbers and times in the texts of servers and errors.

pub(crate) mod amount;
pub(crate) mod wait_in_text;
pub(crate) mod words;
