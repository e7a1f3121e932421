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

/// Each type of a client that is known, with the features that it needs: the one list of them.
///
/// `$each!` is called with a condition and a type at a time.
macro_rules! for_each_client {
    ($each:ident) => {
        $each!("http": crate::http::StatusError);
        $each!("reqwest": ::reqwest::Error);
        $each!("reqwest-middleware-0_5": ::reqwest_middleware::Error);
        $each!("hyper": ::hyper::Error);
        $each!("hyper-util": ::hyper_util::client::legacy::Error);
        $each!("tonic": ::tonic::Status, ::tonic::TimeoutExpired, ::tonic::ConnectError);
        $each!("tokio-postgres": ::tokio_postgres::Error, ::tokio_postgres::error::DbError);
        $each!("sqlx-0_8": ::sqlx_core_0_8::Error, Box<dyn ::sqlx_core_0_8::error::DatabaseError>);
        $each!("sqlx-0_9": ::sqlx_core_0_9::Error, Box<dyn ::sqlx_core_0_9::error::DatabaseError>);
        $each!("redis": ::redis::RedisError);
        $each!("lettre": ::lettre::transport::smtp::Error);
        $each!("tungstenite": ::tungstenite::Error);
    };
}
pub(super) use for_each_client;

/// The error as one of the types of clients, if it is one.
pub(super) fn find<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e dyn KnownError> {
    // Unused without any client.
    let _ = error;
    macro_rules! ask {
        ($feature:literal: $($Type:ty),+) => {$(
            #[cfg(feature = $feature)]
            if let Some(error) = super::known::held::<$Type>(error) {
                return Some(error);
            }
        )+};
    }
    for_each_client!(ask);
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
    use crate::outcome::error::Interrupted;

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
