//! The comparisons, which can be run one by one.

pub mod breakers;
pub mod build;
pub mod calls;
pub mod compile;
pub mod growth;
pub mod jobs;
pub mod board;
pub mod commands;
pub mod weight;
