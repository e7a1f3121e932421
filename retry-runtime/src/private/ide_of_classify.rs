//! The words inside `#[classify( … )]`, for editors: see `ide.rs` beside this file.
#![allow(non_camel_case_types, reason = "they are the words of the attribute")]

use core::time::Duration;

use crate::classify::Class;

/// The peer could not be reached, or the connection broke.
pub mod network {}

/// The request was certainly not sent: a refused connection, a failed name lookup. Also `network`.
pub mod connect {}

/// Something took longer than allowed.
pub mod timeout {}

/// The server itself failed: HTTP 5xx except 501 and 505, and the like.
pub mod server_error {}

/// The server asks for fewer calls: HTTP 429 and the like.
pub mod rate_limit {}

/// A transaction lost against another one. Stands alone.
pub mod conflict {}

/// No retry helps.
pub mod never {}

/// The text decides: `classify::text`.
pub mod text {}

/// A field decides: its class and its wait. `transparent`, or `transparent = field`.
pub mod transparent {}

/// A field holds an HTTP status, `u16` or `http::StatusCode`: `status = field`, `status = 0`.
pub type status = u16;

/// A function decides, `fn(&Self) -> Class`: `with = Self::judge`.
pub type with<E> = dyn Fn(&E) -> Class;

/// A field holds the wait, `Duration` or `Option<Duration>`, beside a kind: `retry_after = field`.
pub type retry_after = Option<Duration>;

/// The name of this library, if it was renamed; above the type.
pub mod crate_ {}
