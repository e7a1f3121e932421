//! redis 1: the kind of a reply, and what the client itself would do about it.

use ::redis::{ErrorKind, RedisError, RetryMethod, ServerErrorKind};

use crate::classify::{Class, KnownError};
use crate::outcome::interrupted::Interrupted;

impl KnownError for RedisError {
    fn known_class(&self) -> Option<Class> {
        if self.is_timeout() {
            return Some(Class::TIMEOUT);
        }
        match self.kind() {
            // A plain `ERR …`, for example of a server with too many clients: only its text is
            // specific. And an I/O error is its source.
            ErrorKind::Server(ServerErrorKind::ResponseError) => None,
            ErrorKind::Io if !self.is_connection_dropped() => None,
            // The client would connect again with the same password, and read the same value, which
            // does not have the requested type.
            ErrorKind::AuthenticationFailed | ErrorKind::Parse => Some(Class::empty()),
            // A write sent to a replica: the client of old versions would not repeat it.
            ErrorKind::Server(ServerErrorKind::ReadOnly) => Some(Class::SERVER_ERROR),
            ErrorKind::Server(_) => Some(match self.retry_method() {
                RetryMethod::NoRetry => Class::empty(),
                _ => Class::SERVER_ERROR,
            }),
            // Codes that the client has no kind for: a script that runs, replicas that are missing.
            ErrorKind::Extension => Some(match self.code() {
                Some("BUSY" | "NOREPLICAS") => Class::SERVER_ERROR,
                _ => Class::empty(),
            }),
            _ => Some(match self.retry_method() {
                RetryMethod::NoRetry => Class::empty(),
                RetryMethod::WaitAndRetry => Class::SERVER_ERROR,
                _ => Class::NETWORK,
            }),
        }
    }
}

retry_rules::conversion!(|interrupted: Interrupted| -> RedisError {
    std::io::Error::from(interrupted).into()
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify;

    #[test]
    fn an_interruption_survives_in_an_io_error_of_redis() {
        classify::clients::tests::keeps_interruptions::<RedisError>();
    }

    #[test]
    fn replies_are_classified_by_their_kind() {
        for kind in [
            ServerErrorKind::BusyLoading,
            ServerErrorKind::Moved,
            ServerErrorKind::Ask,
            ServerErrorKind::TryAgain,
            ServerErrorKind::ClusterDown,
            ServerErrorKind::MasterDown,
            ServerErrorKind::ReadOnly,
        ] {
            let error = RedisError::from((ErrorKind::Server(kind), "no such key"));
            assert_eq!(classify::error(&error), Class::SERVER_ERROR, "{kind:?}");
        }
        for kind in [ServerErrorKind::NoPerm, ServerErrorKind::NoScript, ServerErrorKind::CrossSlot]
        {
            let error = RedisError::from((ErrorKind::Server(kind), "connection refused"));
            assert_eq!(classify::error(&error), Class::empty(), "{kind:?}");
        }
    }

    #[test]
    fn a_wrong_password_is_not_retryable() {
        let error = RedisError::from((ErrorKind::AuthenticationFailed, "connection refused"));
        assert_eq!(classify::error(&error), Class::empty());
    }
}
