//! The types that an attempt may return, and the outcome at the end of a call.
//!
//! Each question that an expansion asks of a return type is a small trait of its own, so that the
//! error for a type that cannot answer points at the user's own tokens.

// Its types are public for expansions, and nothing shows them.
#![allow(missing_debug_implementations)]

pub(crate) mod past_failure;
pub(crate) mod ended;
pub(crate) mod interrupted;
pub(crate) mod error;
pub(crate) mod hidden;
pub(crate) mod shape;
pub(crate) mod interruption;

use core::future::{Future, Ready, ready};
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::base::sealed::Seal;
use crate::outcome::error::IntoError;
use crate::outcome::interrupted::Interrupted;

/// A return type that shows whether it is a failure.
#[diagnostic::on_unimplemented(
    message = "an attempt returns a `Result` or an `Option`, which shows whether it has failed, and \
               this one returns `{Self}`",
    label = "not a `Result` or an `Option`",
    note = "to retry values of another type, say which in `ok(…)`: `retry_on = [ok(|is_done| !is_done)]`, \
            for example, retries a `false`; a future has to be awaited in the attempt"
)]
pub trait Outcome {
    /// The type of a failure.
    type Error;
    /// The type of a success.
    type Value;

    /// Returns the failure, or else the value.
    ///
    /// # Errors
    /// The failure.
    fn failure(&self) -> Result<&Self::Value, &Self::Error>;

    /// Returns the failure, if it is one.
    fn into_failure(self) -> Option<Self::Error>
    where
        Self: Sized;
}

#[diagnostic::do_not_recommend]
impl<T, E> Outcome for Result<T, E> {
    type Error = E;
    type Value = T;

    #[inline(always)]
    fn failure(&self) -> Result<&T, &E> {
        self.as_ref()
    }

    fn into_failure(self) -> Option<E> {
        self.err()
    }
}

/// The failure of an `Option` without a value.
///
/// ```
/// use retry_runtime::{Missing, retry};
///
/// #[retry(attempts = 2)]
/// async fn find() -> Option<u32> {
///     None
/// }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// assert_eq!(find().await, None);
/// assert_eq!(Missing.to_string(), "there is no value");
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing;

impl core::fmt::Display for Missing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("there is no value")
    }
}

impl core::error::Error for Missing {}

#[diagnostic::do_not_recommend]
impl<T> Outcome for Option<T> {
    type Error = Missing;
    type Value = T;

    #[inline(always)]
    fn failure(&self) -> Result<&T, &Missing> {
        self.as_ref().ok_or(&Missing)
    }

    fn into_failure(self) -> Option<Missing> {
        self.is_none().then_some(Missing)
    }
}

/// A value of any other type, with `ok(…)`: never a failure by itself.
pub struct Plain<T>(pub T);

#[diagnostic::do_not_recommend]
impl<T> Outcome for Plain<T> {
    type Error = Missing;
    type Value = T;

    #[inline(always)]
    fn failure(&self) -> Result<&T, &Missing> {
        Ok(&self.0)
    }

    fn into_failure(self) -> Option<Missing> {
        None
    }
}

/// The result of a closure that is not async, for `Retrier::run_sync` and `CircuitBreaker::call`.
#[diagnostic::on_unimplemented(
    message = "a call that is not async takes a closure that returns a `Result`",
    label = "this closure returns `{Self}`",
    note = "for an async operation, use `run` and `.await` in place of `run_sync`, and `call_async` \
            and `.await` in place of `call`",
    note = "for a closure that only panics, write its type: `|| -> Result<(), Error> {{ … }}`"
)]
pub trait SyncResult: From<Result<Self::Value, Self::Error>> {
    /// The type of a success.
    type Value;
    /// The type of a failure.
    type Error;

    /// Returns the result itself.
    #[doc(hidden)]
    fn result(self, _: Seal) -> Result<Self::Value, Self::Error>;
}

#[diagnostic::do_not_recommend]
impl<T, E> SyncResult for Result<T, E> {
    type Value = T;
    type Error = E;

    #[inline(always)]
    fn result(self, _: Seal) -> Self {
        self
    }
}

/// The value that a listener returns: none.
#[diagnostic::on_unimplemented(
    message = "`on_retry` is called before a wait, and is not awaited: it takes a function that is \
               not async, and returns nothing",
    label = "returns `{Self}`",
    note = "for async work, spawn a task: `|event| {{ tokio::spawn(record(event.to_string())); }}`"
)]
pub trait Nothing {}

#[diagnostic::do_not_recommend]
impl Nothing for () {}

/// A listener that always panics returns `!`, a type that has no name of its own yet.
#[diagnostic::do_not_recommend]
impl Nothing for <fn() -> ! as Returning>::Output {}

/// A function pointer, and the type that it returns.
trait Returning {
    type Output;
}

impl<R> Returning for fn() -> R {
    type Output = R;
}

/// A return type that can represent an attempt that was cut off.
#[diagnostic::on_unimplemented(
    message = "`timeout`, `deadline` and `breaker` can end a call without an error of its body, and \
               `{Self}` cannot represent that",
    label = "not a `Result` or an `Option`",
    note = "return `Result<T, E>`, with an error that implements `From<retry_runtime::Interrupted>`"
)]
pub trait Interruptible {
    /// Creates the outcome of an attempt that was cut off.
    fn interrupted(interrupted: Interrupted) -> Self;
}

impl<T, E> Interruptible for Result<T, E>
where
    Interrupted: IntoError<E>,
{
    fn interrupted(interrupted: Interrupted) -> Self {
        Err(interrupted.into_error())
    }
}

#[diagnostic::do_not_recommend]
impl<T> Interruptible for Option<T> {
    fn interrupted(_: Interrupted) -> Self {
        None
    }
}

/// A return type with a default value to continue with: `on_failure = continue`.
#[diagnostic::on_unimplemented(
    message = "`on_failure = continue` returns a default value, but `{Self}` has none",
    label = "the success type does not implement `Default`",
    note = "implement `Default` for it, or name a function for the error, as in `on_failure = \
            fallback(f)`"
)]
pub trait Continue {
    /// Creates the success that the caller receives, of the same type as the outcome.
    fn default_value(_: &Self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default, E> Continue for Result<T, E> {
    fn default_value(_: &Self) -> Self {
        Ok(T::default())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Default> Continue for Option<T> {
    fn default_value(_: &Self) -> Self {
        Some(T::default())
    }
}

impl<T: Default> Continue for Plain<T> {
    fn default_value(_: &Self) -> Self {
        Self(T::default())
    }
}

/// Converts what a fallback returns to what the function returns. The fallback may return `R`
/// itself or the success inside `R`, at once or as a future. `Kind` is inferred, because exactly
/// one fits.
#[diagnostic::on_unimplemented(
    message = "a fallback must return what the function returns, or the success value alone, not \
               `{Self}`",
    label = "the function returns `{R}`",
    note = "to fail, return `Err(error.into_error())`: the fallback receives a `RetryError`, and that \
            is the last error itself; `error.into_last()` is an `Option` of it, if it cannot hold \
            an `Interrupted`"
)]
pub trait Fallback<R, Kind> {
    /// Resolves to what the function returns.
    type Future: Future<Output = R>;

    /// Returns that future.
    fn resolve(self) -> Self::Future;
}

/// [`Fallback`] for a function that is not async: its fallback cannot be async either.
#[diagnostic::on_unimplemented(
    message = "a fallback must return what the function returns, or the success value alone, not \
               `{Self}`",
    label = "the function returns `{R}`",
    note = "to fail, return `Err(error.into_error())`: the fallback receives a `RetryError`, and that \
            is the last error itself; `error.into_last()` is an `Option` of it, if it cannot hold \
            an `Interrupted`",
    note = "the fallback of a function that is not `async` cannot be async: make the function an \
            `async fn`, or write a fallback that is not async"
)]
pub trait FallbackNow<R, Kind> {
    /// Converts the value.
    fn resolve_now(self) -> R;
}

/// The kinds of values that a fallback may return.
pub(crate) mod kind {
    /// The type that the function returns.
    pub enum Whole {}
    /// The success inside it.
    pub enum Success {}
    /// One of these, at once.
    pub struct Now<Kind>(core::marker::PhantomData<Kind>);
    /// A future of one of these.
    pub struct Later<Kind>(core::marker::PhantomData<Kind>);
}

impl<R> FallbackNow<R, kind::Whole> for R {
    fn resolve_now(self) -> R {
        self
    }
}

impl<T, E> FallbackNow<Result<T, E>, kind::Success> for T {
    fn resolve_now(self) -> Result<T, E> {
        Ok(self)
    }
}

impl<T> FallbackNow<Option<T>, kind::Success> for T {
    fn resolve_now(self) -> Option<T> {
        Some(self)
    }
}

impl<R, Kind, X: FallbackNow<R, Kind>> Fallback<R, kind::Now<Kind>> for X {
    type Future = Ready<R>;

    fn resolve(self) -> Ready<R> {
        ready(self.resolve_now())
    }
}

impl<R, Kind, F> Fallback<R, kind::Later<Kind>> for F
where
    F: Future,
    F::Output: FallbackNow<R, Kind>,
{
    type Future = Resolving<F, R>;

    fn resolve(self) -> Self::Future {
        Resolving { future: self, resolve: FallbackNow::resolve_now }
    }
}

pin_project_lite::pin_project! {
    /// Converts the result of a future to what the function returns.
    pub struct Resolving<F: Future, R> {
        #[pin]
        future: F,
        resolve: fn(F::Output) -> R,
    }
}

impl<F: Future, R> Future for Resolving<F, R> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let this = self.project();
        this.future.poll(cx).map(*this.resolve)
    }
}
