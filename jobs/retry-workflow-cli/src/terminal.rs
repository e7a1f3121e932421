//! Terminal output: text without control sequences, and aligned tables.

pub(crate) mod text;
pub(crate) mod table;
