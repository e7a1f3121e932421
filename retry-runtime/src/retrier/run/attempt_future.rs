//! [`AttemptFuture`]: one error about an operation that is not async.

use core::future::Future;

use super::Run;
use crate::base::sealed::Seal;

/// The future of an attempt that [`Retrier::run`](crate::Retrier::run) makes.
///
/// The call takes its types from this trait. If the operation is not async, they are unknown, so
/// that the compiler reports the missing future alone, and no errors about the use of the call.
#[diagnostic::on_unimplemented(
    message = "`run` repeats an operation that is async, and this one returns `{Self}`",
    label = "the operation returns no future",
    note = "for an operation that is not async, write `run_sync(|| …)`, without `.await`"
)]
pub trait AttemptFuture<Op, Kind>: Future + Sized {
    /// The future itself.
    type Attempt;
    /// The operation that returns it.
    type Operation;

    /// Returns the call as it is.
    #[doc(hidden)]
    fn call<T, E, V>(
        call: Run<'_, Op, Self, T, E, V>,
        _: Seal,
    ) -> Run<'_, Self::Operation, Self::Attempt, T, E, V>;
}

#[diagnostic::do_not_recommend]
impl<Fut: Future, Op> AttemptFuture<Op, IsFuture> for Fut {
    type Attempt = Fut;
    type Operation = Op;

    #[inline(always)]
    fn call<T, E, V>(call: Run<'_, Op, Fut, T, E, V>, _: Seal) -> Run<'_, Op, Fut, T, E, V> {
        call
    }
}

// Applies to no type. If there were only one implementation, the compiler would assume its types,
// and report the same mistake again where the call is awaited.
#[diagnostic::do_not_recommend]
impl<Fut: Future + Never, Op> AttemptFuture<Op, IsNever> for Fut {
    type Attempt = Fut;
    type Operation = Op;

    fn call<T, E, V>(call: Run<'_, Op, Fut, T, E, V>, _: Seal) -> Run<'_, Op, Fut, T, E, V> {
        call
    }
}

/// Marks a future.
#[derive(Debug)]
pub struct IsFuture;

/// Marks the implementation that applies to no type.
#[derive(Debug)]
pub struct IsNever;

/// No type implements it.
pub trait Never {}
