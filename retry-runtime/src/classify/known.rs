//! The known error types of std, of tokio and of this crate, with their classes. The types of
//! clients have a file each in `clients/`.
//!
//! There is one `KnownError` implementation for each type; nothing here looks at texts.

use core::error::Error;
use std::io;
use std::sync::Arc;

use super::{Class, Hint};
use crate::outcome::interrupted::Interrupted;

/// An error type whose meaning is known.
pub trait KnownError: Error + 'static {
    /// The class of this error; `None` if it has none of its own, so that what it wraps decides.
    fn known_class(&self) -> Option<Class>;

    /// Returns the hint of this error about the next attempt, in a failure of this class. A text is
    /// read for a wait only if the class is one that may ask for it.
    fn hint(&self, _class: Class) -> Option<Hint> {
        None
    }
}

/// The error as one of the types of std, of tokio or of this crate, if it is one.
pub(super) fn find<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e dyn KnownError> {
    fn known<'e, T: KnownError>(error: &'e (dyn Error + 'static)) -> Option<&'e dyn KnownError> {
        held::<T>(error).map(|error| error as &dyn KnownError)
    }
    known::<io::Error>(error)
        .or_else(|| known::<tokio::time::error::Elapsed>(error))
        .or_else(|| known::<Interrupted>(error))
}

/// Returns whether the error is one of a client, which knows what it was doing.
pub(super) fn is_client(error: &(dyn Error + 'static)) -> bool {
    find(error).is_none()
}

/// The error as a `T`, even if held by a pointer that is itself an error. The `source()` of such a
/// pointer is the source of the `T`, so the `T` is missing from the chain.
pub(super) fn held<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    error
        .downcast_ref::<T>()
        .or_else(|| error.downcast_ref::<Box<T>>().map(|held| &**held))
        .or_else(|| error.downcast_ref::<Arc<T>>().map(|held| &**held))
}

/// The error that this one holds but leaves out of its `source()` chain.
pub(super) fn inside<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(io) = held::<io::Error>(error) {
        return io.get_ref().map(|inner| inner as _);
    }
    if let Some(shared) = error.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        return Some(&**shared);
    }
    error.downcast_ref::<Arc<dyn Error>>().map(|shared| &**shared)
}

impl KnownError for io::Error {
    fn known_class(&self) -> Option<Class> {
        use io::ErrorKind as Kind;

        match self.kind() {
            Kind::ConnectionRefused => Some(Class::NETWORK | Class::CONNECT),

            // Linux also returns the unreachable ones on established connections.
            Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::NotConnected
            | Kind::BrokenPipe
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown
            // On connect: all local ports are in use for the moment.
            | Kind::AddrNotAvailable
            // Truncated files produce it as well, but a function that retries network failures
            // reads from a peer.
            | Kind::UnexpectedEof => Some(Class::NETWORK),

            // `WouldBlock` is what Unix reports when the read timeout of a blocking socket expires.
            Kind::TimedOut | Kind::WouldBlock => Some(Class::TIMEOUT),

            Kind::NotFound
            | Kind::PermissionDenied
            | Kind::AddrInUse
            | Kind::AlreadyExists
            | Kind::NotADirectory
            | Kind::IsADirectory
            | Kind::DirectoryNotEmpty
            | Kind::ReadOnlyFilesystem
            | Kind::StaleNetworkFileHandle
            | Kind::InvalidInput
            | Kind::InvalidData
            | Kind::WriteZero
            | Kind::StorageFull
            | Kind::NotSeekable
            | Kind::QuotaExceeded
            | Kind::FileTooLarge
            | Kind::ResourceBusy
            | Kind::ExecutableFileBusy
            | Kind::Deadlock
            | Kind::TooManyLinks
            | Kind::ArgumentListTooLong
            | Kind::Interrupted
            | Kind::Unsupported
            | Kind::OutOfMemory => Some(Class::empty()),

            // `Other`, and the kinds without a public name: a failed DNS
            // lookup is one of them.
            _ => None,
        }
    }
}

impl KnownError for tokio::time::error::Elapsed {
    fn known_class(&self) -> Option<Class> {
        Some(Class::TIMEOUT)
    }
}

impl KnownError for Interrupted {
    fn hint(&self, _: Class) -> Option<Hint> {
        self.held_for().map(Hint::Wait)
    }

    fn known_class(&self) -> Option<Class> {
        Some(match self {
            Self::Timeout { .. } | Self::Deadline { .. } => Class::TIMEOUT,
            Self::Held { .. } => Class::RATE_LIMIT,
            Self::CircuitOpen { .. } | Self::Cancelled | Self::Value => Class::empty(),
        })
    }
}

impl<T: KnownError> KnownError for Box<T> {
    fn known_class(&self) -> Option<Class> {
        T::known_class(self)
    }

    fn hint(&self, class: Class) -> Option<Hint> {
        T::hint(self, class)
    }
}

impl<T: KnownError> KnownError for Arc<T> {
    fn known_class(&self) -> Option<Class> {
        T::known_class(self)
    }

    fn hint(&self, class: Class) -> Option<Hint> {
        T::hint(self, class)
    }
}

#[cfg(test)]
mod tests {
    use core::fmt;
    use core::time::Duration;

    use super::*;
    use crate::classify;

    #[derive(Debug)]
    struct Wrapper(&'static str, Box<dyn Error + Send + Sync>);

    impl fmt::Display for Wrapper {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Wrapper {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&*self.1)
        }
    }

    fn class(error: impl Error + 'static) -> Class {
        classify::error(&error)
    }

    fn elapsed() -> tokio::time::error::Elapsed {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            tokio::time::timeout(Duration::ZERO, core::future::pending::<()>()).await.unwrap_err()
        })
    }

    #[test]
    fn io_errors_are_classified_by_their_kind() {
        use io::ErrorKind as Kind;

        for (kind, expected) in [
            (Kind::ConnectionRefused, Class::NETWORK | Class::CONNECT),
            (Kind::HostUnreachable, Class::NETWORK),
            (Kind::NetworkUnreachable, Class::NETWORK),
            (Kind::AddrNotAvailable, Class::NETWORK),
            (Kind::ConnectionReset, Class::NETWORK),
            (Kind::UnexpectedEof, Class::NETWORK),
            (Kind::TimedOut, Class::TIMEOUT),
            (Kind::WouldBlock, Class::TIMEOUT),
            (Kind::PermissionDenied, Class::empty()),
        ] {
            assert_eq!(class(io::Error::new(kind, "HTTP 500")), expected, "{kind}");
        }
    }

    #[test]
    fn an_unspecific_io_error_is_classified_by_its_source() {
        assert_eq!(class(io::Error::other(elapsed())), Class::TIMEOUT);
        assert_eq!(class(io::Error::other("HTTP 500")), Class::SERVER_ERROR);
        let lookup = io::Error::other("failed to lookup address information");
        assert_eq!(class(lookup), Class::NETWORK | Class::CONNECT);
        let circuit = Interrupted::CircuitOpen {
            breaker: "timed out".into(),
            remaining: Duration::from_secs(1),
        };
        assert_eq!(class(io::Error::from(circuit)), Class::empty());
    }

    #[cfg(unix)]
    #[test]
    fn errors_of_the_system_without_a_named_kind_are_read() {
        const EHOSTDOWN: i32 = 112;
        if cfg!(target_os = "linux") {
            assert_eq!(class(io::Error::from_raw_os_error(EHOSTDOWN)), Class::NETWORK);
        }
    }

    #[test]
    fn interruptions_by_time_are_timeouts() {
        assert_eq!(class(elapsed()), Class::TIMEOUT);
        let limit = Duration::from_secs(1);
        assert_eq!(class(Interrupted::Timeout { limit }), Class::TIMEOUT);
        assert_eq!(class(Interrupted::Deadline { limit }), Class::TIMEOUT);
    }

    #[test]
    fn a_known_type_deep_in_the_chain_silences_the_texts() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let middle = Wrapper("HTTP 500", denied.into());
        assert_eq!(class(Wrapper("connection refused", middle.into())), Class::empty());
    }

    #[test]
    fn all_known_types_of_the_chain_count() {
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        let middle = Wrapper("", reset.into());
        let outer = io::Error::new(io::ErrorKind::TimedOut, middle);
        assert_eq!(class(outer), Class::NETWORK | Class::TIMEOUT);
    }

    #[test]
    fn without_a_known_type_the_innermost_meaningful_text_decides() {
        let middle = Wrapper("HTTP 500", "operation timed out".into());
        assert_eq!(class(Wrapper("while paying", middle.into())), Class::TIMEOUT);
        let mute = Wrapper("HTTP 500", "no tax rate".into());
        assert_eq!(class(Wrapper("while paying", mute.into())), Class::SERVER_ERROR);
    }

    #[test]
    fn a_context_never_overrules_its_cause() {
        let cause = "password authentication failed for user \"app\"";
        let outer = Wrapper("could not connect to the database", cause.into());
        assert_eq!(class(outer), Class::empty());
    }

    #[test]
    fn none_of_the_usual_contexts_overrules_a_refusal_or_hides_a_failure() {
        for context in [
            "could not connect to the database",
            "failed to connect to db:5432",
            "connection error",
            "network error",
            "request timeout",
            "timed out while loading the user",
            "the service is unavailable",
            "internal server error",
            "server error while saving",
            "rate limit reached?",
            "reading from the socket: connection closed",
            "unable to connect to the broker",
            "transport error",
            "importing order 4711",
        ] {
            let class = |cause: &'static str| class(Wrapper(context, cause.into()));
            assert_eq!(class("password authentication failed for user \"a\""), Class::empty());
            assert_eq!(class("relation \"users\" does not exist"), Class::empty(), "{context}");
            assert_eq!(class("deadlock detected"), Class::CONFLICT, "{context}");
            assert_eq!(class("429 Too Many Requests"), Class::RATE_LIMIT, "{context}");
        }
    }

    #[test]
    fn a_text_that_ends_with_its_cause_is_read_as_a_whole() {
        let outer = "permanent error (550): No such user timeout";
        assert_eq!(class(Wrapper(outer, "No such user timeout".into())), Class::empty());
        let outer = "Database(\"request timeout\")";
        assert_eq!(class(Wrapper(outer, "request timeout".into())), Class::TIMEOUT);
    }

    #[test]
    fn nothing_outside_makes_a_final_failure_pass() {
        let invalid = io::Error::new(io::ErrorKind::InvalidData, "certificate has expired");
        let refused = io::Error::new(io::ErrorKind::ConnectionRefused, invalid);
        assert_eq!(class(refused), Class::empty());
    }

    #[test]
    fn below_a_known_type_a_text_may_only_refuse() {
        let proxy = Wrapper("tunnel", "407 Proxy Authentication Required".into());
        let connect = io::Error::new(io::ErrorKind::ConnectionRefused, proxy);
        assert_eq!(class(connect), Class::empty());
        let busy = Wrapper("tunnel", "429 Too Many Requests".into());
        let connect = io::Error::new(io::ErrorKind::ConnectionRefused, busy);
        assert_eq!(class(connect), Class::NETWORK | Class::CONNECT);
    }

    #[test]
    fn pointers_are_transparent_to_classification() {
        let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
        assert_eq!(class(Box::new(reset())), Class::NETWORK);
        assert_eq!(class(Arc::new(reset())), Class::NETWORK);
        let shared: Arc<dyn Error + Send + Sync> = Arc::new(reset());
        assert_eq!(class(Wrapper("", Box::new(shared))), Class::NETWORK);
    }

    #[test]
    fn inner_error_may_deny_that_nothing_was_sent() {
        use io::ErrorKind as Kind;

        let of = |outer: Kind, inner: Kind| class(io::Error::new(outer, io::Error::from(inner)));
        // The kind of a wrapper does not count: the inner error was on a connection.
        assert_eq!(of(Kind::ConnectionRefused, Kind::ConnectionReset), Class::NETWORK);
        assert_eq!(of(Kind::ConnectionRefused, Kind::PermissionDenied), Class::empty());
        let both = Class::NETWORK | Class::CONNECT;
        assert_eq!(of(Kind::ConnectionReset, Kind::ConnectionRefused), both);
        assert_eq!(of(Kind::TimedOut, Kind::ConnectionRefused), both | Class::TIMEOUT);
    }

    #[test]
    fn texts_around_a_failure_may_deny_that_nothing_was_sent() {
        let around = |context: &'static str| class(Wrapper(context, "connection refused".into()));
        for context in ["importing order 4711", "could not connect to the database", ""] {
            assert_eq!(around(context), Class::NETWORK | Class::CONNECT, "{context}");
        }
        for context in [
            "HTTP 502",
            "the upstream said",
            "rpc error: code = Unavailable",
            "while the request timed out",
            "404 Not Found",
            "409 Conflict, status 409",
        ] {
            assert_eq!(around(context), Class::NETWORK, "{context}");
        }
    }

    #[test]
    fn a_cycle_of_sources_ends() {
        #[derive(Debug)]
        struct Ouroboros;

        impl fmt::Display for Ouroboros {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("HTTP 500")
            }
        }

        impl Error for Ouroboros {
            fn source(&self) -> Option<&(dyn Error + 'static)> {
                Some(&Ouroboros)
            }
        }

        assert_eq!(class(Ouroboros), Class::SERVER_ERROR);
    }
}
