//! The grammar of `#[retry( … )]` in the form of modules, for editors.
//!
//! When the macro runs in rust-analyzer, it imports the words in the attribute from here; see
//! `ide.rs` of `retry-macros`. Each option is an item of that name, and its settings are in the
//! module of that name. None of them is a value: rust-analyzer only resolves types and modules in
//! the blocks that contain the imports.
//!
//! This is always compiled: `cfg(rust_analyzer)` is set only in the user's workspace, not in its
//! dependencies.
//!
//! The options of a policy come from the table in `retry-rules`. The others are documented in
//! `attribute.md`, and their settings where they are defined: a test
//! (`tests/tests/macros/editor.rs`) checks that the texts here agree.
#![allow(non_camel_case_types, reason = "they are the words of the attribute")]
#![allow(unreachable_pub, unused_imports, reason = "a kind of value may have no words")]

use core::time::Duration;

use crate::classify::Class;

use retry_rules::Policy;

use crate::event::retry_event::RetryEvent;
use crate::protect::quota::RetryQuota;

/// Declares a module for each row, with its documentation.
macro_rules! modules {
    ($(
        $(#[$docs:meta])+
        $name:ident => $Field:ident $parts:tt $keys:tt
            $Kind:ident($set:ident, $example:literal $(, $default:literal $(, $Needs:ident)?)?);
    )*) => {
        $(
            $(#[$docs])+
            ///
            /// ```text
            #[doc = $example]
            /// ```
            $(
                ///
                /// Default:
                #[doc = $default]
            )?
            pub mod $name {
                pub use super::words::$Kind::*;
            }
        )*
    };
}

retry_rules::policy_options!(modules! {});

/// The words after options and settings, by the kinds of their values.
#[allow(non_snake_case, reason = "the names of kinds")]
mod words {
    pub(super) mod Attempts {
        pub use retry_rules::Attempts::Unlimited as unlimited;
    }

    pub(super) mod Bound {
        pub use retry_rules::Bound::Unlimited as unlimited;
    }

    pub(super) mod Time {}

    pub(super) mod Count {}

    pub(super) mod Share {}

    pub(super) mod HalfOpen {
        pub use retry_rules::HalfOpen::{Gradual as gradual, Probes as probes};
    }

    pub(super) mod Backoff {
        pub use retry_rules::Backoff::{Custom as custom, Fibonacci as fibonacci, Fixed as fixed};

        /// Each wait is longer than the one before it by `increment`.
        pub mod linear {
            /// By how much each wait is longer than the one before it.
            pub type increment = core::time::Duration;
        }

        /// Each wait is `base` times the one before it. The default, with base 2.
        pub mod exponential {
            /// The factor, above 1.
            pub type base = f64;
        }
    }

    pub(super) mod Jitter {
        pub use retry_rules::Jitter::{
            Decorrelated as decorrelated, Equal as equal, Full as full, None as none, Up as up,
        };
    }

    pub(super) mod Hedge {
        use core::time::Duration;

        /// The time after which another attempt joins one that has not answered: `"200ms"`, or a
        /// percentile of the times that calls take, from `p50` to `p99`.
        pub type after = Duration;

        /// The number of hedges that may join one attempt, one after the other. Default 1; at least 1.
        pub type max = u32;
    }
}

/// A future, created once per call: when it is ready, the wait ends and no further attempt begins (async only).
///
/// `cancel = stop.cancelled()`. Default: none.
pub mod cancel {}

/// Only what one of these matchers matches is retried.
///
/// `retry_on = [ … ]`. Default: every failure.
pub mod retry_on {
    pub use super::abort_on::*;

    /// A *value* to retry, or, in `breaker_on`, to count as a failure.
    pub type ok<T> = dyn Fn(&T) -> bool;
}

/// Never retried, whatever `retry_on` says.
///
/// `abort_on = [ … ]`. Default: none.
pub mod abort_on {
    /// Matches what any of [`network`], [`timeout`], [`server_error`], [`rate_limit`] and
    /// [`conflict`] matches: every failure that another attempt may cure. Beside it, the others have
    /// no effect, so files and the attribute reject them.
    pub mod transient {}

    /// Matches failures to reach the other side, and connections that broke.
    pub mod network {}

    /// Matches failures whose request was certainly not sent: a refused connection, a failed name
    /// lookup, a client that failed while it connected.
    ///
    /// [`network`] matches these too, and more: beside it in one list, `connect` has no effect, so
    /// files and the attribute reject the pair. A request that must not be made twice, such as a
    /// POST, may retry these.
    pub mod connect {}

    /// Matches operations that took too long, including attempts that the policy's `timeout` cut
    /// off.
    pub mod timeout {}

    /// Matches failures of the server: HTTP 5xx except 501 and 505, and the like.
    pub mod server_error {}

    /// Matches servers that ask for fewer calls: HTTP 429 and the like.
    pub mod rate_limit {}

    /// Matches transactions that lost against others: serialization failures, deadlocks, locks
    /// that another session holds.
    ///
    /// The operation has to be the whole transaction, because a single statement of it fails
    /// again. A conflict never counts against a breaker.
    pub mod conflict {}

    /// A regular expression over the error's text and its sources'; with the feature `pattern`.
    pub type pattern = str;

    /// A pattern, with a guard if you like: `matches(DbError::Code(c) if c >= 500)`.
    pub mod matches {}

    /// `Fn(&E) -> bool`.
    pub type when<E> = dyn Fn(&E) -> bool;
}

/// `Fn(&E) -> Option<Class>`: the kind of failure of an error, for types of other crates; `None` leaves it to the type and the text.
///
/// `classify = f`. Default: none.
pub type classify<E> = dyn Fn(&E) -> Option<Class>;

/// `Fn(&E) -> Option<Duration>`: the wait that the server asked for; a closure of two arguments, `|error, wait| …`, also receives the wait that would follow, and the wait that it returns is used unchanged.
///
/// `retry_after = f`. Default: the wait that [`Classify`](crate::Classify) returns, or an `http::StatusError` in it (feature `http`).
pub type retry_after<E> = dyn Fn(&E) -> Option<Duration>;

/// A [`CircuitBreaker`](crate::CircuitBreaker): a `static`, an `Arc`, a field, one of a family (`HOSTS.of(host)`); or inline: `breaker(failure_threshold = 5, timeout = "30s")`.
///
/// `breaker = DB`. Default: none.
pub mod breaker {
    use super::words;

    retry_rules::breaker_settings!(modules! {});
}

/// The failures that count for the breaker, by these matchers; an attempt that the policy's own `timeout` cuts off always does.
///
/// `breaker_on = [ … ]`. Default: what is retried.
pub mod breaker_on {
    pub use super::abort_on::{
        connect, matches, network, pattern, rate_limit, server_error, timeout, transient, when,
    };

    /// A *value* that counts as a failure.
    pub type ok<T> = dyn Fn(&T) -> bool;
}

/// If the breaker admits no call: `give_up`, or `wait` until it does, within attempts, budget, `max_elapsed` and deadline.
///
/// `when_open = wait`. Default: `give_up`.
pub mod when_open {
    /// The call ends, without sleeping first. The default.
    pub mod give_up {}

    /// The call waits until the breaker admits it. Each refusal by an open breaker uses up one of the
    /// attempts.
    pub mod wait {}
}

/// A [`RetryQuota`](crate::RetryQuota).
///
/// `quota = OUTBOUND`. Default: none.
pub type quota = RetryQuota;

/// `stop`, `continue` (with `T::default()`), or `fallback(f)`.
///
/// `on_failure = …`. Default: `stop`.
pub mod on_failure {
    use crate::RetryError;

    /// The call returns its last failure. The default.
    pub mod stop {}

    /// The failure is reported, and the call returns `Ok(T::default())`.
    ///
    /// Written `continue`: an editor completes it with a `_` too many, for a
    /// keyword is not the name of an item.
    pub mod continue_ {}

    /// The call returns what `f` makes of the [`RetryError`](crate::RetryError).
    /// It may be async, it may give a `T` or what the function returns, and the
    /// function's arguments are in scope: `fallback(|_| cached(id))`.
    pub type fallback<E, T> = dyn Fn(RetryError<E>) -> T;
}

/// `Fn(RetryError<E>) -> F`: makes the error that the caller gets in place of the last error. The function returns `Result<T, F>` and its body `Result<T, E>`. A closure states `E`: `|error: RetryError<E>| …`; of a path to a function, it is `F`.
///
/// `map_error = f`. Default: the error itself.
pub type map_error<E, F> = dyn Fn(crate::RetryError<E>) -> F;

/// Called with a [`&RetryEvent`](crate::RetryEvent) before each wait.
///
/// `on_retry = f`. Default: none.
pub type on_retry<E> = dyn Fn(&RetryEvent<'_, E>);

/// Keeps the last failures of a call, from 1 to 100, in its `RetryError`, whose [`history`](crate::RetryError::history) returns the number, text, class and wait of each.
///
/// `history = 5`. Default: none.
pub type history = u32;

/// The level at which `tracing` logs that a call gave up: `off`, `debug`, `info` or `warn`, whatever the reason; nothing else is affected.
///
/// `log = info`. Default: `warn`; `info` with `continue` or `fallback`, or if the outcome is a value; `debug` if the failure is not retryable, or `nested = once` asked for one attempt.
pub mod log {
    /// The end of a call is not logged.
    pub mod off {}

    /// At the level `DEBUG`.
    pub mod debug {}

    /// At the level `INFO`.
    pub mod info {}

    /// At the level `WARN`.
    pub mod warn {}
}

/// Functions with `#[retry]` called inside make one attempt each while this one is retrying.
///
/// `nested = once`. Default: each retries by its own policy.
pub mod nested {
    /// One attempt each: this function alone retries.
    pub mod once {}
}

/// Starts from a shared [`policy!`](crate::policy), or a runtime `Policy` or `RetryConfig`; the other options override it.
///
/// `policy = HTTP`. Default: none.
pub type policy = Policy;

/// The name in events.
///
/// `name = "billing.fetch"`. Default: module path and function name.
pub type name = str;

/// Arguments that the body consumes or changes: each attempt gets a clone.
///
/// `clone(body)`. Default: none.
pub mod clone {}

/// `mut` arguments that the body changes: the next attempt continues with what is left.
///
/// `carry(rest)`. Default: none.
pub mod carry {}

/// Binds a [`&Attempt`](crate::Attempt) in the body: its number, its waits, and rulings on its failure: `cx.give_up()`, `cx.retry_after(d)`, `cx.at_least(d)`, and `cx.reset()` for loops that reconnect.
///
/// `context = cx`. Default: none.
pub mod context {}

/// Leaves the section "Retries" out of the function's documentation.
///
/// `docs = false`. Default: `true`.
pub type docs = bool;

/// The name of this library, if it was renamed.
///
/// `crate = path`. Default: `retry_runtime`.
///
/// An editor completes it with a `_` too many, because a keyword is not the name of an item.
pub mod crate_ {}
