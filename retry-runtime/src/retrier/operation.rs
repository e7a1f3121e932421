//! The operation that a call repeats: a closure, one that takes the context of its attempt, or one that
//! passes state from attempt to attempt.

// Its types are public for expansions, and nothing shows them.
#![allow(missing_debug_implementations)]

use core::future::Future;
use core::task::{Context, Poll};
use std::sync::Arc;

use crate::base::sealed::Seal;
use crate::call::attempt::Attempt;
use crate::outcome::error::RetryError;

/// The operation that a [`Run`](super::Run) repeats: each attempt is a `Fut`.
///
/// Sealed: closures, [`WithContext`] and [`WithState`] implement it.
pub trait Operation<Fut: Future, T, E> {
    /// The type that the call returns.
    type Output;

    /// Begins attempt `number`, which `context` describes. If it returns `None`, the attempt begins
    /// when [`poll_begun`](Self::poll_begun) is ready.
    fn begin(&mut self, number: u32, context: impl FnOnce() -> Attempt, _: Seal) -> Option<Fut>;

    /// Polls the attempt until it begins, or fails before that.
    ///
    /// # Errors
    /// The failure before it could begin.
    fn poll_begun(&mut self, _: &mut Context<'_>, _: Seal) -> Poll<Result<Fut, E>> {
        panic!("a call is polled after it has ended")
    }

    /// Begins an attempt while another one runs, or returns `None` if that cannot be.
    fn hedge(&mut self, _: Seal) -> Option<Fut> {
        None
    }

    /// Takes the result of an attempt.
    ///
    /// # Errors
    /// The error of the attempt.
    fn end(&mut self, output: Fut::Output) -> Result<T, E>;

    /// Returns the attempt that has ended, if it was able to rule on its own failure.
    fn attempt(&self) -> Option<&Attempt> {
        None
    }

    /// Returns `true` if another attempt can be made.
    fn can_repeat(&self) -> bool {
        true
    }

    /// Returns the output of the call.
    fn finish(&mut self, result: Result<T, RetryError<E>>) -> Self::Output;
}

impl<Op, Fut, T, E> Operation<Fut, T, E> for Op
where
    Op: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Output = Result<T, RetryError<E>>;

    #[inline(always)]
    fn begin(&mut self, _: u32, _: impl FnOnce() -> Attempt, _: Seal) -> Option<Fut> {
        Some(self())
    }

    fn hedge(&mut self, _: Seal) -> Option<Fut> {
        Some(self())
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

/// Begins an attempt in the place of the `last` one: a single allocation serves all attempts of a call,
/// unless the program keeps the context of one.
fn shared(last: &mut Option<Arc<Attempt>>, attempt: Attempt) -> Arc<Attempt> {
    match last.as_mut().and_then(Arc::get_mut) {
        Some(unused) => *unused = attempt,
        None => *last = Some(Arc::new(attempt)),
    }
    last.clone().unwrap_or_else(|| unreachable!("it was set"))
}

/// A closure that takes the context of its attempt: [`Retrier::run_cx`](crate::Retrier::run_cx).
pub struct WithContext<Op> {
    attempt: Option<Arc<Attempt>>,
    operation: Op,
}

impl<Op> WithContext<Op> {
    pub(super) fn new(operation: Op) -> Self {
        Self { attempt: None, operation }
    }
}

impl<Op, Fut, T, E> Operation<Fut, T, E> for WithContext<Op>
where
    Op: FnMut(Arc<Attempt>) -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    type Output = Result<T, RetryError<E>>;

    fn begin(&mut self, _: u32, context: impl FnOnce() -> Attempt, _: Seal) -> Option<Fut> {
        Some((self.operation)(shared(&mut self.attempt, context())))
    }

    fn hedge(&mut self, _: Seal) -> Option<Fut> {
        self.attempt.clone().map(&mut self.operation)
    }

    fn end(&mut self, output: Result<T, E>) -> Result<T, E> {
        output
    }

    fn attempt(&self) -> Option<&Attempt> {
        self.attempt.as_deref()
    }

    fn finish(&mut self, result: Self::Output) -> Self::Output {
        result
    }
}

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

impl<S, Op, Fut, T, E> Operation<Fut, T, E> for WithState<S, Op>
where
    Op: FnMut(S, Arc<Attempt>) -> Fut,
    Fut: Future<Output = (S, Result<T, E>)>,
{
    type Output = (Option<S>, Result<T, RetryError<E>>);

    fn begin(&mut self, _: u32, context: impl FnOnce() -> Attempt, _: Seal) -> Option<Fut> {
        let Some(state) = self.state.take() else {
            unreachable!("without its state nothing is repeated")
        };
        Some((self.operation)(state, shared(&mut self.attempt, context())))
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
