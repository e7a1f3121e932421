//! What is written to a terminal: text that moves no cursor, and tables whose
//! columns line up.

pub(crate) mod text;
pub(crate) mod table;
