//! tungstenite 0.30: the response of a server that refused the upgrade to a WebSocket.

use ::http::Response;
use ::tungstenite::Error;
use ::tungstenite::error::ProtocolError;

use crate::classify::{Class, Classify as _, Hint, KnownError};
use crate::http::StatusError;
use crate::outcome::interrupted::Interrupted;

impl KnownError for Error {
    fn known_class(&self) -> Option<Class> {
        match self {
            Error::Http(response) => Some(status_error(response)?.class()),
            Error::ConnectionClosed
            | Error::AlreadyClosed
            | Error::Protocol(
                ProtocolError::ResetWithoutClosingHandshake | ProtocolError::HandshakeIncomplete,
            ) => Some(Class::NETWORK),
            // The inner error is more specific.
            Error::Io(_) | Error::Tls(_) => None,
            _ => Some(Class::empty()),
        }
    }

    fn hint(&self, _: Class) -> Option<Hint> {
        match self {
            Error::Http(response) => status_error(response)?.hint(),
            _ => None,
        }
    }
}

/// The response of the server, with its body.
fn status_error(response: &Response<Option<Vec<u8>>>) -> Option<StatusError> {
    let body = response.body().as_deref().unwrap_or_default();
    Some(StatusError::of(response)?.with_body(String::from_utf8_lossy(body)))
}

retry_rules::conversion!(|interrupted: Interrupted| -> Error { Self::Io(interrupted.into()) });

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::classify::Classify;

    #[test]
    fn an_interruption_survives_in_an_io_error_of_tungstenite() {
        crate::classify::clients::tests::keeps_interruptions::<Error>();
    }

    #[test]
    fn a_refused_upgrade_is_its_status_and_its_wait() {
        let response = ::http::Response::builder().status(429).header("retry-after", "7");
        let error = Error::Http(Box::new(response.body(None).unwrap()));
        assert_eq!(Classify::class(&error), Class::RATE_LIMIT);
        assert_eq!(Classify::retry_after(&error), Some(Duration::from_secs(7)));
        let quota = ::http::Response::builder().status(429);
        let body = b"{\"code\": \"insufficient_quota\"}".to_vec();
        let error = Error::Http(Box::new(quota.body(Some(body)).unwrap()));
        assert_eq!(Classify::class(&error), Class::empty());
    }
}
