//! What stands between a request and a page: who may ask, under which name, from which page, and
//! with which form; and what a browser is told about the answer.

pub(crate) mod headers;
pub(crate) mod host;
pub(crate) mod origin;
pub(crate) mod secret;
pub(crate) mod session;
pub(crate) mod token;
