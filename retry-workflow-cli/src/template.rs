//! Texts with placeholders: what a placeholder may stand for, and where in a shell
//! script its value stays a value.

pub(crate) mod placeholder;
pub(crate) mod shell;
