//! The warning about a failure inside of a success, which is not retried. Whether there may be one is
//! determined where the macro expands, by method resolution (see [`crate::classify::probe`]).

use tokio::task::JoinError;
use tokio::time::error::Elapsed;

use crate::outcome::interrupted::AttemptError;

/// The outcome of an attempt.
#[derive(Debug)]
pub struct OutcomeOf<'a, R>(pub &'a R);

/// The error of a timer or of a task, around the result of what it ran.
pub trait Around {}

impl Around for Elapsed {}
impl Around for JoinError {}
impl<E: Around> Around for AttemptError<E> {}

impl<T, E, F: Around> OutcomeOf<'_, Result<Result<T, E>, F>> {
    #[doc(hidden)]
    #[deprecated(
        note = "an `Err` in an `Ok` is a success, which is not retried: return the inner `Result` (in place of a \
                timer, `timeout = \"1s\"` among the options limits each attempt), or add `ok(Result::is_err)` to \
                `retry_on`"
    )]
    pub const fn __success(&self) {}
}

impl<R> OutcomeOf<'_, R> {
    #[doc(hidden)]
    #[deprecated(
        note = "an `Err` in a `Some` is a success, which is not retried: return a `Result` with the `Option` in its \
                `Ok`"
    )]
    pub const fn __some(&self) {}

    #[doc(hidden)]
    #[deprecated(
        note = "a response such as a 503 is an `Ok`, which is not retried: call `error_for_status()` on it, or \
                add `ok(|response| response.status().is_server_error())` to `retry_on`"
    )]
    pub const fn __answer(&self) {}
}

/// Found otherwise: a type's own method comes first.
pub trait AnyOutcome {
    #[doc(hidden)]
    fn __success(&self) {}
}

impl<R> AnyOutcome for OutcomeOf<'_, R> {}
