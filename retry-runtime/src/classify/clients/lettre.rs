//! lettre 0.11: SMTP's own distinction, 4xx passes and 5xx lasts.

use ::lettre::transport::smtp::Error;

use crate::classify::{Class, KnownError};

impl KnownError for Error {
    fn known_class(&self) -> Option<Class> {
        if self.is_timeout() {
            Some(Class::TIMEOUT)
        } else if self.is_transient() {
            Some(Class::SERVER_ERROR)
        } else if self.is_permanent() || self.is_client() || self.is_transport_shutdown() {
            Some(Class::empty())
        } else if self.is_response() {
            // The reply ended too early, or is not SMTP; a caller cannot tell them apart.
            Some(Class::NETWORK)
        } else {
            // The connection: what broke is its source.
            None
        }
    }
}
