//! The operation that a call repeats: a closure, or one that passes state from attempt to attempt.

use core::fmt;
use core::future::Future;
use std::sync::Arc;

use crate::base::sealed::Seal;
use crate::call::attempt::Attempt;
use crate::outcome::error::RetryError;
use crate::retrier::run::Run;

/// The operation that a [`Run`](super::Run) repeats: each attempt is a `Fut`.
///
/// Sealed: closures, and [`WithState`], implement it.
pub trait Operation<Fut: Future, T, E> {
    /// The type that the call returns.
    type Output;

    /// Begins an attempt, which `context` describes.
    #[doc(hidden)]
    fn begin(&mut self, context: impl FnOnce() -> Attempt, _: Seal) -> Fut;

    /// Begins an attempt while another one runs, or returns `None` if that cannot be.
    #[doc(hidden)]
    fn hedge(&mut self, _: Seal) -> Option<Fut> {
        None
    }

    /// Returns the result of an attempt beside which others may run.
    #[doc(hidden)]
    fn result(output: &Fut::Output) -> &Result<T, E>;

    /// Takes the result of an attempt.
    ///
    /// # Errors
    /// The error of the attempt.
    #[doc(hidden)]
    fn end(&mut self, output: Fut::Output) -> Result<T, E>;

    /// Returns the attempt that has ended, if it was able to rule on its own failure.
    #[doc(hidden)]
    fn attempt(&self) -> Option<&Attempt> {
        None
    }

    /// Returns `true` if another attempt can be made.
    #[doc(hidden)]
    fn can_repeat(&self) -> bool {
        true
    }

    /// Returns the output of the call.
    #[doc(hidden)]
    fn finish(&mut self, result: Result<T, RetryError<E>>) -> Self::Output;
}

impl<Op, Fut, T, E> Operation<Fut, T, E> for Op
where
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Output = Result<T, RetryError<E>>;

    #[inline(always)]
    fn begin(&mut self, _: impl FnOnce() -> Attempt, _: Seal) -> Fut {
        self()
    }

    fn hedge(&mut self, _: Seal) -> Option<Fut> {
        Some(self())
    }

    fn result(output: &Result<T, E>) -> &Result<T, E> {
        output
    }

    #[inline(always)]
    fn end(&mut self, output: Result<T, E>) -> Result<T, E> {
        output
    }

    #[inline(always)]
    fn finish(&mut self, result: Self::Output) -> Self::Output {
        result
    }
}

/// The future of an attempt that [`Retrier::run`](crate::Retrier::run) makes.
///
/// The types of the call are read from here. They are unknown if the operation is not async, so
/// that only the missing future is an error, and not also what is done with the call.
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

// Never used. With one implementation alone, the compiler would take its types as given, and report
// the same mistake again where the call is awaited.
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

/// Marks a type of which there is none.
#[derive(Debug)]
pub struct IsNever;

/// No type implements it.
pub trait Never {}

/// A closure that takes state and returns it: [`Retrier::run_with`](crate::Retrier::run_with).
pub struct WithState<S, Op> {
    // `None` while an attempt holds it, and after one that was cut off.
    state: Option<S>,
    attempt: Option<Arc<Attempt>>,
    operation: Op,
}

impl<S, Op> WithState<S, Op> {
    pub(super) fn new(state: S, operation: Op) -> Self {
        Self { state: Some(state), attempt: None, operation }
    }
}

impl<S, Op> fmt::Debug for WithState<S, Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithState").finish_non_exhaustive()
    }
}

impl<S, Op, Fut, T, E> Operation<Fut, T, E> for WithState<S, Op>
where
    Op: FnMut(S, Arc<Attempt>) -> Fut,
    Fut: Future<Output = (S, Result<T, E>)>,
{
    type Output = (Option<S>, Result<T, RetryError<E>>);

    fn begin(&mut self, context: impl FnOnce() -> Attempt, _: Seal) -> Fut {
        let Some(state) = self.state.take() else {
            unreachable!("without its state nothing is repeated")
        };
        let attempt = self.attempt.insert(Arc::new(context()));
        (self.operation)(state, Arc::clone(attempt))
    }

    fn result((_, result): &Fut::Output) -> &Result<T, E> {
        result
    }

    fn end(&mut self, (state, result): Fut::Output) -> Result<T, E> {
        self.state = Some(state);
        result
    }

    fn attempt(&self) -> Option<&Attempt> {
        self.attempt.as_deref()
    }

    fn can_repeat(&self) -> bool {
        self.state.is_some()
    }

    fn finish(&mut self, result: Result<T, RetryError<E>>) -> Self::Output {
        (self.state.take(), result)
    }
}
