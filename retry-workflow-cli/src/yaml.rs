//! YAML files as trees in which every value knows where it stands, and the picture
//! of a mistake at its place in the file.

pub(crate) mod span;
pub(crate) mod node;
