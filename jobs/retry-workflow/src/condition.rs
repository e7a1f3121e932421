//! Conditions on JSON values: the grammar of `filter` and `when` in workflow files, of `--where`
//! and of the board.

pub mod decimal;
pub mod path;
pub mod expression;
