//! Texts with placeholders: what a placeholder may stand for, conditions over
//! values, and where in a shell script a value stays a value.

pub(crate) mod placeholder;
pub(crate) mod expression;
pub(crate) mod shell;
