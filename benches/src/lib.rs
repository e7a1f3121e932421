//! Benchmarks of the retry crates: their costs compared with loops by hand and with other
//! libraries.
//!
//! `contenders` and `breakers` are what is compared, `parts` are the comparisons, and the rest are
//! their building blocks: `race` times, `child` counts in other processes, `scratch` compiles,
//! `contest` compares, `report` and `table` print.

pub mod answer;
pub mod breakers;
pub mod calls;
pub mod child;
pub mod contest;
#[cfg(feature = "paused")]
pub mod failures;
pub mod machine;
pub mod manifest;
pub mod names;
pub mod parts;
pub mod policies;
pub mod processor;
pub mod race;
pub mod report;
pub mod scratch;
pub mod stack;
pub mod table;
pub mod together;
pub mod visit;
