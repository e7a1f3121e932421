//! [`AttemptFuture`]: one error about an operation that is not async.

use core::convert::Infallible;
use core::future::Future;

use super::Run;
use crate::base::sealed::{Never, Seal};

/// The future of an attempt that [`Retrier::run`](crate::Retrier::run) makes.
///
/// The call takes its types from this trait. If the operation is not async, or its future resolves
/// to something else, they are unknown, so that the compiler reports this alone, and no errors about
/// the use of the call.
#[diagnostic::on_unimplemented(
    message = "a call repeats an operation that returns a future of `{O}`, and this one returns \
               `{Self}`",
    label = "the operation returns no future of `{O}`",
    note = "an `async` block awaits what it calls: `run(|| async {{ fetch().await }})`, or \
            `run(|| fetch())`",
    note = "for an operation that is not async, use `run_sync`, without `.await`; an `Option` becomes a \
            `Result` by `.ok_or(error)`"
)]
pub trait AttemptFuture<Op, T, E, O, Kind>: Future<Output = O> + Sized {
    /// The future itself.
    type Attempt;
    /// The operation that returns it.
    type Operation;

    /// Returns the call as it is.
    fn call<V>(
        call: Run<'_, Op, Self, T, E, V>,
        _: Seal,
    ) -> Run<'_, Self::Operation, Self::Attempt, T, E, V>;
}

#[diagnostic::do_not_recommend]
impl<Fut, Op, T, E, O> AttemptFuture<Op, T, E, O, ()> for Fut
where
    Fut: Future<Output = O>,
{
    type Attempt = Fut;
    type Operation = Op;

    #[inline(always)]
    fn call<V>(call: Run<'_, Op, Fut, T, E, V>, _: Seal) -> Run<'_, Op, Fut, T, E, V> {
        call
    }
}

// If there were only one implementation, the compiler would also report the same mistake again where
// the call is awaited.
#[diagnostic::do_not_recommend]
impl<Fut, Op, T, E, O> AttemptFuture<Op, T, E, O, Infallible> for Fut
where
    Fut: Future<Output = O> + Never,
{
    type Attempt = Fut;
    type Operation = Op;

    fn call<V>(call: Run<'_, Op, Fut, T, E, V>, _: Seal) -> Run<'_, Op, Fut, T, E, V> {
        call
    }
}
