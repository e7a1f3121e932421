//! The components of the pages.

pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod badge;
pub(crate) mod chart;
pub(crate) mod waits;
pub(crate) mod graph;
pub(crate) mod timeline;
pub(crate) mod form;
pub(crate) mod table;
pub(crate) mod layout;
