//! tonic 0.14: the code of a status, and the wait in its details.

mod retry_info;

use core::error::Error as _;
use core::time::Duration;

use ::tonic::{Code, ConnectError, Status, TimeoutExpired};

use crate::classify::{Class, Known, text};

impl Known for Status {
    fn known(&self) -> Option<Class> {
        Some(match self.code() {
            // The one code for "could not connect", "the connection broke" and "the server is
            // overloaded"; a caller cannot tell them apart.
            Code::Unavailable => Class::NETWORK | Class::SERVER_ERROR,
            Code::DeadlineExceeded => Class::TIMEOUT,
            Code::ResourceExhausted => Class::RATE_LIMIT,
            // Defined as "typically due to a concurrency issue such as a transaction abort".
            Code::Aborted => Class::CONFLICT,
            // The client itself uses it for errors that have no code of their own.
            Code::Unknown if self.source().is_some() => return None,
            // Where a proxy answered instead of the service, tonic puts its HTTP status here.
            Code::Internal | Code::Unknown => {
                text::status_code(self.message()).unwrap_or(Class::SERVER_ERROR)
            }
            // What tonic turns its own `TimeoutExpired` into.
            Code::Cancelled if self.message() == "Timeout expired" => Class::TIMEOUT,
            // `DataLoss` maps to HTTP 500, but is defined as unrecoverable.
            _ => Class::empty(),
        })
    }

    fn wait(&self) -> Option<Duration> {
        retry_info::in_details(self.details())
    }
}

impl Known for TimeoutExpired {
    fn known(&self) -> Option<Class> {
        Some(Class::TIMEOUT)
    }
}

impl Known for ConnectError {
    fn known(&self) -> Option<Class> {
        Some(Class::NETWORK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify;

    fn class(error: impl core::error::Error + 'static) -> Class {
        classify::error(&error)
    }

    #[test]
    fn grpc_codes_are_known() {
        for (code, expected) in [
            (Code::Unavailable, Class::NETWORK | Class::SERVER_ERROR),
            (Code::DeadlineExceeded, Class::TIMEOUT),
            (Code::ResourceExhausted, Class::RATE_LIMIT),
            (Code::Aborted, Class::CONFLICT),
            (Code::Internal, Class::SERVER_ERROR),
            (Code::Unknown, Class::SERVER_ERROR),
            (Code::DataLoss, Class::empty()),
            (Code::NotFound, Class::empty()),
            (Code::Unauthenticated, Class::empty()),
            (Code::Cancelled, Class::empty()),
        ] {
            assert_eq!(class(Status::new(code, "the token timed out")), expected, "{code:?}");
        }
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let unknown = Status::from_error(refused.into());
        assert_eq!(unknown.code(), Code::Unknown);
        assert_eq!(class(unknown), Class::NETWORK);
        let timeout = TimeoutExpired(());
        assert_eq!(class(Status::from_error(Box::new(timeout))), Class::TIMEOUT);
    }

    #[test]
    fn the_status_of_a_proxy_says_more_than_internal() {
        for (message, expected) in [
            ("grpc-status header missing, mapped from HTTP status code 400", Class::empty()),
            (
                "protocol error: received message with invalid compression flag: 60 (valid flags \
                 are 0 and 1) while receiving response with status: 504 Gateway Timeout",
                Class::SERVER_ERROR | Class::TIMEOUT,
            ),
            ("connection refused", Class::SERVER_ERROR),
        ] {
            assert_eq!(class(Status::new(Code::Internal, message)), expected, "{message}");
        }
    }

    #[test]
    fn an_untrusted_certificate_is_not_unavailable() {
        let untrusted = std::io::Error::new(std::io::ErrorKind::InvalidData, "UnknownIssuer");
        let mut status = Status::new(Code::Unavailable, "transport error");
        status.set_source(std::sync::Arc::new(untrusted));
        assert_eq!(class(status), Class::empty());
    }
}
