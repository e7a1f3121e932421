//! Clients whose errors are known by their types, each behind a feature of its own.
//!
//! Each file asks what the client itself knows: a code, a kind, `is_transient()`. The client's
//! English is never read.

#[cfg(feature = "hyper")]
mod hyper;
#[cfg(feature = "hyper-util")]
mod hyper_util;
#[cfg(feature = "lettre")]
mod lettre;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "reqwest")]
mod reqwest;
#[cfg(feature = "reqwest-middleware-0_5")]
mod reqwest_middleware;
#[cfg(any(feature = "sqlx-0_8", feature = "sqlx-0_9"))]
mod sqlx;
#[cfg(feature = "http")]
mod status_error;
#[cfg(feature = "tokio-postgres")]
mod tokio_postgres;
#[cfg(feature = "tonic")]
mod tonic;
#[cfg(feature = "tungstenite")]
mod tungstenite;

use core::error::Error;

use super::known::KnownError;

/// Calls a macro with the clients: a feature, and the types that it makes known, with their rows in the
/// documentation of [`classify::error`](super::error).
macro_rules! for_each_client {
    ($then:ident) => {
        $then! {
            "http": crate::http::StatusError {
                /// | `retry_runtime::http::StatusError` (feature `http`) | its status, with [`status`]; a 403 that limits the rate → rate limit; a 429 for a quota that waiting does not renew → none |
            }
            "reqwest": ::reqwest::Error {
                /// | `reqwest::Error` 0.13 (feature `reqwest`) | its status, with [`status`]; timeout; connect → network and connect; a request that could not be built, a redirect or a body that could not be decoded → none |
            }
            "reqwest-middleware-0_5": ::reqwest_middleware::Error {
                /// | `reqwest_middleware::Error` 0.5 (feature `reqwest-middleware-0_5`) | the error of reqwest or of the middleware in it |
            }
            "hyper": ::hyper::Error {
                /// | `hyper::Error` 1 (feature `hyper`) | timeout; canceled, closed, incomplete → network; a message that could not be parsed, a mistake of the caller → none |
            }
            "hyper-util": ::hyper_util::client::legacy::Error {
                /// | `hyper_util::client::legacy::Error` 0.1 (feature `hyper-util`) | connect → network and connect |
            }
            "tonic": ::tonic::Status, ::tonic::TimeoutExpired, ::tonic::ConnectError {
                /// | `tonic::ConnectError` 0.14 (feature `tonic`) | network and connect |
                /// | `tonic::Status` 0.14 (feature `tonic`) | `Unavailable` → network and server error; `DeadlineExceeded` → timeout; `ResourceExhausted` → rate limit; `Aborted` → conflict; `Internal`, `Cancelled` and `Unknown` with a source: the known types in it decide, then its texts; `Internal`, and `Unknown` without a source → server error, or the HTTP status of a proxy that answered; any other code → none |
            }
            "tokio-postgres": ::tokio_postgres::Error, ::tokio_postgres::error::DbError {
                /// | `tokio_postgres::Error` and `DbError` 0.7 (feature `tokio-postgres`) | its SQLSTATE; a closed connection → network |
            }
            "sqlx-0_8": ::sqlx_core_0_8::Error, Box<dyn ::sqlx_core_0_8::error::DatabaseError> {
                /// | `sqlx::Error` and its database errors 0.8 (feature `sqlx-0_8`) | the SQLSTATE, or the code of SQLite; a pool that timed out → timeout, network and connect |
            }
            "sqlx-0_9": ::sqlx_core_0_9::Error, Box<dyn ::sqlx_core_0_9::error::DatabaseError> {
                /// | `sqlx::Error` and its database errors 0.9 (feature `sqlx-0_9`) | the SQLSTATE, or the code of SQLite; a pool that timed out → timeout, network and connect |
            }
            "redis": ::redis::RedisError {
                /// | `redis::RedisError` 1 (feature `redis`) | its kind: `LOADING`, `MOVED`, `TRYAGAIN`, `CLUSTERDOWN`, `MASTERDOWN`, `READONLY` → server error |
            }
            "lettre": ::lettre::transport::smtp::Error {
                /// | `lettre::transport::smtp::Error` 0.11 (feature `lettre`) | a reply 4xx → server error, 5xx → none; timeout |
            }
            "tungstenite": ::tungstenite::Error {
                /// | `tungstenite::Error` 0.30 (feature `tungstenite`) | the status of a response that refused the upgrade |
            }
        }
    };
}
pub(super) use for_each_client;

/// The error as one of the types of clients, if it is one.
pub(super) fn find<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e dyn KnownError> {
    // Unused without any client.
    let _ = error;
    macro_rules! find_in {
        ($( $feature:literal: $($Type:ty),+ { $(#[$row:meta])+ } )+) => {$($(
            #[cfg(feature = $feature)]
            if let Some(error) = super::known::held::<$Type>(error) {
                return Some(error);
            }
        )+)+};
    }
    for_each_client!(find_in);
    None
}

/// The error that the error of a client holds but leaves out of its `source()` chain.
pub(super) fn inside<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    // Unused without this client.
    let _ = error;
    #[cfg(feature = "reqwest-middleware-0_5")]
    if let Some(error) = super::known::held(error) {
        return Some(reqwest_middleware::inside(error));
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use core::time::Duration;

    use crate::classify::{self, Class, Classify};
    use crate::outcome::interrupted::Interrupted;

    /// Asserts that an error of a client that is created from an interruption keeps its class, its
    /// wait and itself.
    #[cfg_attr(
        not(any(
            feature = "redis",
            feature = "reqwest-middleware-0_5",
            feature = "sqlx-0_8",
            feature = "sqlx-0_9",
            feature = "tonic",
            feature = "tungstenite"
        )),
        expect(dead_code, reason = "no such client")
    )]
    pub(in crate::classify) fn keeps_interruptions<
        E: Classify + From<Interrupted> + core::error::Error + 'static,
    >() {
        let limit = Duration::from_secs(2);
        let remaining = Duration::from_secs(7);
        let breaker = crate::base::name::Name::from("shop");
        for (interrupted, class, wait) in [
            (Interrupted::Timeout { limit }, Class::TIMEOUT, None),
            (Interrupted::Deadline { limit }, Class::TIMEOUT, None),
            (
                Interrupted::CircuitOpen { breaker: breaker.clone(), remaining },
                Class::empty(),
                None,
            ),
            (Interrupted::Held { breaker, remaining }, Class::RATE_LIMIT, Some(remaining)),
            (Interrupted::Cancelled, Class::empty(), None),
            (Interrupted::Value, Class::empty(), None),
        ] {
            crate::classify::registered::note_waits();
            let error = E::from(interrupted.clone());
            assert_eq!(Classify::class(&error), class, "{interrupted:?}");
            assert_eq!(classify::error(&error), class, "{interrupted:?}");
            assert_eq!(Classify::retry_after(&error), wait, "{interrupted:?}");
            assert_eq!(Interrupted::find_in(&error), Some(&interrupted));
            let boxed: Box<dyn core::error::Error> = Box::new(error);
            assert_eq!(classify::error(&*boxed), class, "{interrupted:?}");
        }
    }
}
