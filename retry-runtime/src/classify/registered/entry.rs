//! [`Rule`]: an entry of the list, and how an expansion makes one.

// Its types are public for expansions, and nothing shows them.
#![allow(missing_debug_implementations)]

use core::error::Error;
use core::marker::PhantomData;

use crate::classify::known::held;
use crate::classify::{Class, Classify, Hint};

/// The entry of a type that classifies itself.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub(super) class: fn(&(dyn Error + 'static)) -> Option<Class>,
    /// `None` for another type; the hint of this one, which may be none.
    pub(super) hint: fn(&(dyn Error + 'static), Class) -> Option<Option<Hint>>,
}

/// The probe of whether a type is an [`Error`], and so can stand in a chain. Its own constant is
/// found first if it is, otherwise the constant of [`NotAnError`].
pub struct Probe<T>(PhantomData<T>);

impl<T: Classify + Error + 'static> Probe<T> {
    /// The type classifies itself.
    pub const RULE: Rule = Rule {
        class: |link| held::<T>(link).map(Classify::class),
        hint: |link, class| held::<T>(link).map(|error| error.__hint(class)),
    };
}

/// See [`Probe`].
pub trait NotAnError {
    /// The type is in no chain.
    const RULE: Rule = Rule { class: |_| None, hint: |_, _| None };
}

impl<T> NotAnError for Probe<T> {}

/// The probe of an error's source: its own method is found first if the type is an [`Error`],
/// otherwise the method of [`NoSource`].
pub struct SourceOf<'a, T>(pub &'a T);

impl<'a, T: Error> SourceOf<'a, T> {
    /// Returns the error that the error wraps.
    pub fn __source(&self) -> Option<&'a (dyn Error + 'static)> {
        self.0.source()
    }
}

/// See [`SourceOf`].
pub trait NoSource {
    /// The type wraps no error.
    fn __source(&self) -> Option<&'static (dyn Error + 'static)> {
        None
    }
}

impl<T> NoSource for SourceOf<'_, T> {}
