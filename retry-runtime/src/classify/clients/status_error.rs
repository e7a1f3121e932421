//! This crate's own [`StatusError`]: a response whose status is a failure.

use core::time::Duration;

use crate::classify::{Class, Classify, Known, status};
use crate::http::StatusError;

impl Known for StatusError {
    fn known(&self) -> Option<Class> {
        Some(Classify::class(self))
    }

    fn wait(&self) -> Option<Duration> {
        Self::retry_after(self)
    }
}

impl Classify for StatusError {
    fn class(&self) -> Class {
        status(self.status().as_u16())
    }

    fn retry_after(&self) -> Option<Duration> {
        Self::retry_after(self)
    }
}
