//! The security checks: who may ask, under which host name, from which page and with which form;
//! and the security headers of the response.

pub(crate) mod headers;
pub(crate) mod host;
pub(crate) mod origin;
pub(crate) mod public_url;
pub(crate) mod secret;
pub(crate) mod identity;
pub(crate) mod session;
pub(crate) mod token;
