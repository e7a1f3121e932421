//! Texts with placeholders: what placeholders mean, conditions on values, and where in a shell
//! script a value is safe.

pub(crate) mod decimal;
pub(crate) mod placeholder;
pub(crate) mod expression;
pub(crate) mod shell;
