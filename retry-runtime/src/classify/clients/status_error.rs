//! This crate's own [`StatusError`]: a response whose status is a failure.

use core::time::Duration;

use ::http::StatusCode;

use crate::classify::{Class, Classify, Hint, KnownError, status};
use crate::http::StatusError;

impl KnownError for StatusError {
    fn known_class(&self) -> Option<Class> {
        Some(Classify::class(self))
    }

    fn hint(&self, _: Class) -> Option<Hint> {
        Self::hint(self)
    }
}

#[diagnostic::do_not_recommend]
impl Classify for StatusError {
    fn class(&self) -> Class {
        match self.status() {
            StatusCode::FORBIDDEN if self.is_forbidden_limit() => Class::RATE_LIMIT,
            StatusCode::TOO_MANY_REQUESTS if self.quota_code().is_some() => Class::empty(),
            code => status(code.as_u16()),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        Self::retry_after(self)
    }

    fn __hint(&self, _: Class) -> Option<Hint> {
        Self::hint(self)
    }
}
