//! Values that count as failures, although they came without an error.

use core::convert::Infallible;
use core::fmt::{self, Debug, Display};

use crate::base::sealed::{Sealed, shared_closure};
use crate::classify::Classify;
use crate::outcome::interrupted::Interrupted;

/// Decides which values of type `T` are failures.
///
/// Sealed: [`AllSucceed`], [`RetryOnValue`] and the closure of
/// `RetryLayer::classify_response` implement it.
pub trait Values<T>: Sealed {
    /// The fault of a value.
    type Failure: FailedValue;

    /// Returns what is wrong with this value, or `None` if it is a success.
    fn failure(&self, value: &T) -> Option<Self::Failure>;
}

/// The fault of a value: a text for events, and an error for matchers.
///
/// Sealed: only the failures of [`Values`] implement it.
pub trait FailedValue: Display + Sealed + Send {
    /// Returns what the matchers judge, or `None` if the value is retried whatever they say.
    fn classified(&self) -> Option<&dyn Classify>;
}

/// No value is a failure: the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllSucceed;

impl Sealed for AllSucceed {}

impl<T> Values<T> for AllSucceed {
    type Failure = Infallible;

    #[inline(always)]
    fn failure(&self, _: &T) -> Option<Infallible> {
        None
    }
}

impl Sealed for Infallible {}

impl FailedValue for Infallible {
    fn classified(&self) -> Option<&dyn Classify> {
        match *self {}
    }
}

shared_closure! {
    /// A predicate that picks values to retry:
    /// [`Retrier::retry_on_value`](crate::Retrier::retry_on_value).
    RetryOnValue
}

impl<T, F: Fn(&T) -> bool> Values<T> for RetryOnValue<F> {
    type Failure = PickedValue;

    fn failure(&self, value: &T) -> Option<PickedValue> {
        (self.0)(value).then_some(PickedValue)
    }
}

/// A value that [`RetryOnValue`] picked.
#[derive(Clone, Copy, Debug)]
pub struct PickedValue;

impl Display for PickedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&Interrupted::Value, f)
    }
}

impl Sealed for PickedValue {}

impl FailedValue for PickedValue {
    fn classified(&self) -> Option<&dyn Classify> {
        None
    }
}
