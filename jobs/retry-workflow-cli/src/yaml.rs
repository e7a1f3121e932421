//! YAML files as trees in which every value has a source location, and pictures of mistakes in
//! their place in the file.

pub(crate) mod span;
pub(crate) mod foreign_keys;
pub(crate) mod node;
