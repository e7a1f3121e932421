//! With `ok(…)`, a function may return anything. Whether its type is already an [`Outcome`] is
//! determined where the macro expands, by method resolution (see [`crate::classify::probe`]): such
//! a type stays as it is, any other becomes [`Plain`].

// Its types are public for expansions, and nothing shows them.
#![allow(missing_debug_implementations)]

use crate::outcome::{Missing, Outcome, Plain};

/// The shape of a type.
pub struct Shape<R>(core::marker::PhantomData<R>);

impl<R> Shape<R> {
    /// The shape of what an attempt returned.
    pub fn of(_: &R) -> Self {
        Self(core::marker::PhantomData)
    }
}

/// The type is already an outcome.
pub struct AsIs;

impl AsIs {
    #[doc(hidden)]
    pub fn __wrap<R: Outcome>(self, outcome: R) -> R {
        outcome
    }

    #[doc(hidden)]
    pub fn __failure<R: Outcome>(self, outcome: &R) -> Result<&R::Value, &R::Error> {
        outcome.failure()
    }
}

/// The type has to be wrapped.
pub struct Wrapped;

impl Wrapped {
    #[doc(hidden)]
    pub fn __wrap<R>(self, value: R) -> Plain<R> {
        Plain(value)
    }

    #[doc(hidden)]
    pub fn __failure<R>(self, value: &R) -> Result<&R, &Missing> {
        Ok(value)
    }
}

/// Found first, for types that are outcomes.
pub trait IsOutcome {
    #[doc(hidden)]
    fn __shape(&self) -> AsIs {
        AsIs
    }
}

impl<R: Outcome> IsOutcome for Shape<R> {}

/// Found otherwise, because it needs one more reference.
pub trait IsPlain {
    #[doc(hidden)]
    fn __shape(&self) -> Wrapped {
        Wrapped
    }
}

impl<R> IsPlain for &Shape<R> {}

/// Converts back to what the function returns.
pub trait Returned {
    /// The type that the function returns.
    type Declared;

    #[doc(hidden)]
    fn __returned(self) -> Self::Declared;
}

impl<T, E> Returned for Result<T, E> {
    type Declared = Self;

    fn __returned(self) -> Self {
        self
    }
}

impl<T> Returned for Option<T> {
    type Declared = Self;

    fn __returned(self) -> Self {
        self
    }
}

impl<T> Returned for Plain<T> {
    type Declared = T;

    fn __returned(self) -> T {
        self.0
    }
}
