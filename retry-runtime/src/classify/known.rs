//! The error types whose meaning is known, and their classes.
//!
//! There is one `Known` implementation for each type; nothing here looks at texts.

use core::error::Error;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use super::Class;
use crate::outcome::error::Interrupted;

/// An error type whose meaning is known.
pub trait Known: Error + 'static {
    /// The class of this error; `None` if it has none of its own, so that what it wraps decides.
    fn known(&self) -> Option<Class>;
}

/// The class of one error, regardless of what it wraps.
pub(super) fn class(error: &(dyn Error + 'static)) -> Option<Class> {
    said::<io::Error>(error)
        .or_else(|| said::<tokio::time::error::Elapsed>(error))
        .or_else(|| said::<Interrupted>(error))
        .or_else(|| optional(error))
}

#[cfg_attr(
    not(any(feature = "http", feature = "reqwest", feature = "hyper", feature = "tonic")),
    expect(unused_variables, reason = "none of the types is built in")
)]
fn optional(error: &(dyn Error + 'static)) -> Option<Class> {
    let said_by = None;
    #[cfg(feature = "http")]
    let said_by = said_by.or_else(|| said::<crate::http::StatusError>(error));
    #[cfg(feature = "reqwest")]
    let said_by = said_by.or_else(|| said::<reqwest::Error>(error));
    #[cfg(feature = "hyper")]
    let said_by = said_by.or_else(|| said::<hyper::Error>(error));
    #[cfg(feature = "tonic")]
    let said_by = said_by
        .or_else(|| said::<tonic::Status>(error))
        .or_else(|| said::<tonic::TimeoutExpired>(error))
        .or_else(|| said::<tonic::ConnectError>(error));
    said_by
}

/// How long the server asked callers to wait, according to this one error.
#[cfg_attr(
    not(feature = "http"),
    expect(unused_variables, reason = "none of the types that know is built in")
)]
pub(super) fn hint(error: &(dyn Error + 'static)) -> Option<Duration> {
    #[cfg(feature = "http")]
    return held::<crate::http::StatusError>(error)?.retry_after();
    #[cfg(not(feature = "http"))]
    return None;
}

fn said<T: Known>(error: &(dyn Error + 'static)) -> Option<Class> {
    held::<T>(error)?.known()
}

/// The error as a `T`, even if held by a pointer that is itself an error. The `source()` of such a
/// pointer is that of the `T`, so the `T` is missing from the chain.
fn held<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
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

impl Known for io::Error {
    fn known(&self) -> Option<Class> {
        use io::ErrorKind as Kind;

        match self.kind() {
            Kind::ConnectionRefused
            | Kind::ConnectionReset
            | Kind::ConnectionAborted
            | Kind::NotConnected
            | Kind::BrokenPipe
            | Kind::HostUnreachable
            | Kind::NetworkUnreachable
            | Kind::NetworkDown
            // On connect: all local ports are in use for the moment.
            | Kind::AddrNotAvailable
            // Truncated files produce it as well, but a function that is told to retry network
            // failures reads from a peer.
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

impl Known for tokio::time::error::Elapsed {
    fn known(&self) -> Option<Class> {
        Some(Class::TIMEOUT)
    }
}

impl Known for Interrupted {
    fn known(&self) -> Option<Class> {
        Some(match self {
            Self::Timeout { .. } | Self::Deadline { .. } => Class::TIMEOUT,
            Self::CircuitOpen { .. } | Self::Value => Class::empty(),
        })
    }
}

#[cfg(feature = "http")]
impl Known for crate::http::StatusError {
    fn known(&self) -> Option<Class> {
        Some(super::Classify::class(self))
    }
}

#[cfg(feature = "http")]
impl super::Classify for crate::http::StatusError {
    fn class(&self) -> Class {
        super::status(self.status().as_u16())
    }

    fn retry_after(&self) -> Option<Duration> {
        Self::retry_after(self)
    }
}

#[cfg(feature = "reqwest")]
impl Known for reqwest::Error {
    fn known(&self) -> Option<Class> {
        if let Some(status) = self.status() {
            return Some(super::status(status.as_u16()));
        }
        // reqwest keeps its own "timed out" type private, so the error must be asked.
        let timeout = if self.is_timeout() { Class::TIMEOUT } else { Class::empty() };
        #[cfg(not(target_arch = "wasm32"))]
        let network = if self.is_connect() { Class::NETWORK } else { Class::empty() };
        #[cfg(target_arch = "wasm32")]
        let network = Class::empty();

        let said = timeout | network;
        let final_word = self.is_builder() || self.is_redirect() || self.is_decode();
        (final_word || !said.is_empty()).then_some(said)
    }
}

#[cfg(feature = "hyper")]
impl Known for hyper::Error {
    fn known(&self) -> Option<Class> {
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

#[cfg(feature = "tonic")]
impl Known for tonic::Status {
    fn known(&self) -> Option<Class> {
        use tonic::Code;

        Some(match self.code() {
            // The one code for "could not connect", "the connection broke" and "the server is
            // overloaded"; a caller cannot tell them apart.
            Code::Unavailable => Class::NETWORK | Class::SERVER_ERROR,
            Code::DeadlineExceeded => Class::TIMEOUT,
            Code::ResourceExhausted => Class::RATE_LIMIT,
            // The client itself uses it for errors that have no code of their own.
            Code::Unknown if self.source().is_some() => return None,
            Code::Internal | Code::Unknown => Class::SERVER_ERROR,
            // What tonic turns its own `TimeoutExpired` into.
            Code::Cancelled if self.message() == "Timeout expired" => Class::TIMEOUT,
            // `DataLoss` maps to HTTP 500, but is defined as unrecoverable.
            _ => Class::empty(),
        })
    }
}

#[cfg(feature = "tonic")]
impl Known for tonic::TimeoutExpired {
    fn known(&self) -> Option<Class> {
        Some(Class::TIMEOUT)
    }
}

#[cfg(feature = "tonic")]
impl Known for tonic::ConnectError {
    fn known(&self) -> Option<Class> {
        Some(Class::NETWORK)
    }
}

impl<T: Known> Known for Box<T> {
    fn known(&self) -> Option<Class> {
        T::known(self)
    }
}

impl<T: Known> Known for Arc<T> {
    fn known(&self) -> Option<Class> {
        T::known(self)
    }
}

#[cfg(test)]
mod tests {
    use core::fmt;

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
    fn io_errors_are_known_by_their_kind() {
        use io::ErrorKind as Kind;

        for (kind, expected) in [
            (Kind::ConnectionRefused, Class::NETWORK),
            (Kind::UnexpectedEof, Class::NETWORK),
            (Kind::TimedOut, Class::TIMEOUT),
            (Kind::WouldBlock, Class::TIMEOUT),
            (Kind::PermissionDenied, Class::empty()),
        ] {
            assert_eq!(class(io::Error::new(kind, "HTTP 500")), expected, "{kind}");
        }
    }

    #[test]
    fn an_io_error_that_says_nothing_leaves_the_word_to_what_it_holds() {
        assert_eq!(class(io::Error::other(elapsed())), Class::TIMEOUT);
        assert_eq!(class(io::Error::other("HTTP 500")), Class::SERVER_ERROR);
        assert_eq!(class(io::Error::other("failed to lookup address information")), Class::NETWORK);
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
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let middle = Wrapper("", refused.into());
        let outer = io::Error::new(io::ErrorKind::TimedOut, middle);
        assert_eq!(class(outer), Class::NETWORK | Class::TIMEOUT);
    }

    #[test]
    fn without_a_known_type_all_texts_of_the_chain_count() {
        let middle = Wrapper("HTTP 500", "operation timed out".into());
        assert_eq!(
            class(Wrapper("while paying", middle.into())),
            Class::SERVER_ERROR | Class::TIMEOUT
        );
    }

    #[test]
    fn pointers_do_not_hide_what_they_hold() {
        let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
        assert_eq!(class(Box::new(refused())), Class::NETWORK);
        assert_eq!(class(Arc::new(refused())), Class::NETWORK);
        let shared: Arc<dyn Error + Send + Sync> = Arc::new(refused());
        assert_eq!(class(Wrapper("", Box::new(shared))), Class::NETWORK);
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

    #[cfg(feature = "reqwest")]
    #[test]
    fn reqwest_errors_are_known() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let error = runtime.block_on(async {
            // Nothing listens on port 1.
            let client = reqwest::Client::builder().no_proxy().build().unwrap();
            client.get("http://127.0.0.1:1/HTTP-500").send().await.unwrap_err()
        });
        assert_eq!(class(error), Class::NETWORK);
        let builder = reqwest::Client::new().get("no address: timed out").build().unwrap_err();
        assert_eq!(class(builder), Class::empty());
    }

    #[cfg(feature = "tonic")]
    #[test]
    fn grpc_codes_are_known() {
        use tonic::{Code, Status};

        for (code, expected) in [
            (Code::Unavailable, Class::NETWORK | Class::SERVER_ERROR),
            (Code::DeadlineExceeded, Class::TIMEOUT),
            (Code::ResourceExhausted, Class::RATE_LIMIT),
            (Code::Internal, Class::SERVER_ERROR),
            (Code::Unknown, Class::SERVER_ERROR),
            (Code::DataLoss, Class::empty()),
            (Code::NotFound, Class::empty()),
            (Code::Cancelled, Class::empty()),
        ] {
            assert_eq!(class(Status::new(code, "HTTP 429")), expected, "{code:?}");
        }
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let unknown = Status::from_error(refused.into());
        assert_eq!(unknown.code(), Code::Unknown);
        assert_eq!(class(unknown), Class::NETWORK);
        let timeout = tonic::TimeoutExpired(());
        assert_eq!(class(Status::from_error(Box::new(timeout))), Class::TIMEOUT);
    }
}
