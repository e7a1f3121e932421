//! Texts with placeholders: what placeholders mean, and where in a shell script a value is safe.

pub(crate) mod error;
pub(crate) mod placeholder;
pub(crate) mod available;
pub(crate) mod parse;
pub(crate) mod scope;
pub(crate) mod text;
pub(crate) mod shell;
