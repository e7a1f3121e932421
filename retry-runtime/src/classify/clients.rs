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
