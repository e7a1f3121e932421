//! With `ok(…)` a function may return anything. Whether its type is an
//! [`Outcome`] by itself is found where the macro expands, by method resolution
//! (see [`crate::classify::probe`]): a type that is one stays as it is, any other becomes
//! [`Plain`].

use crate::outcome::{Outcome, Plain};

/// A look at a type.
#[derive(Debug)]
pub struct Shape<R>(core::marker::PhantomData<R>);

impl<R> Shape<R> {
    /// The shape of what an attempt returned.
    pub fn of(_: &R) -> Self {
        Self(core::marker::PhantomData)
    }
}

/// An outcome by itself.
#[derive(Debug)]
pub struct AsIs;

impl AsIs {
    #[doc(hidden)]
    pub fn __wrap<R: Outcome>(self, outcome: R) -> R {
        outcome
    }
}

/// Any other type.
#[derive(Debug)]
pub struct Wrapped;

impl Wrapped {
    #[doc(hidden)]
    pub fn __wrap<R>(self, value: R) -> Plain<R> {
        Plain(value)
    }
}

/// Found first, where it holds.
pub trait IsOutcome {
    #[doc(hidden)]
    fn __shape(&self) -> AsIs {
        AsIs
    }
}

impl<R: Outcome> IsOutcome for Shape<R> {}

/// Found else: it is one reference further away.
pub trait IsPlain {
    #[doc(hidden)]
    fn __shape(&self) -> Wrapped {
        Wrapped
    }
}

impl<R> IsPlain for &Shape<R> {}

/// Back to what the function returns.
pub trait Returned {
    /// What the function returns.
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
