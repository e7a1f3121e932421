//! hyper 1.

use crate::classify::{Class, KnownError};

impl KnownError for ::hyper::Error {
    fn known_class(&self) -> Option<Class> {
        if self.is_timeout() {
            Some(Class::TIMEOUT)
        } else if self.is_closed() || self.is_incomplete_message() || self.is_canceled() {
            Some(Class::NETWORK)
        } else if self.is_parse() || self.is_user() {
            Some(Class::empty())
        } else {
            None
        }
    }
}
