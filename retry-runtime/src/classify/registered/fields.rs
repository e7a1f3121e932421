//! The values that the words of `#[classify( … )]` read from fields, and from the error itself.

// Its types are public for expansions, and nothing shows them.
#![allow(missing_debug_implementations)]

use core::error::Error;
use core::fmt::Display;
use core::time::Duration;

use crate::classify::probe::ErrorView;
use crate::classify::{self, Class, Hint, display, registered};

/// The class of a text.
pub fn text(error: &impl Display) -> Class {
    display(error)
}

/// The wait that a text states, in a failure of this class.
pub fn hint_in_text(error: &impl Display, class: Class) -> Option<Hint> {
    ErrorView::Text(error).hint(class)
}

/// Requires what `with = path` returns to be a [`Class`].
pub const fn class_of(class: Class) -> Class {
    class.completed()
}

/// The class of an HTTP status.
pub fn status(status: &impl StatusField) -> Class {
    classify::status(status.code())
}

/// A wait.
pub fn wait_of(wait: &impl WaitField) -> Option<Duration> {
    wait.wait()
}

/// The types that `status = field` takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an HTTP status",
    label = "`status` takes a field of type `u16` or `http::StatusCode`",
    note = "for `http::StatusCode`, enable the feature `http` of retry-runtime",
    note = "for another type, write `#[classify(with = Self::judge)]`, with `fn judge(&self) -> \
            Class`"
)]
pub trait StatusField {
    /// The code.
    fn code(&self) -> u16;
}

impl StatusField for u16 {
    fn code(&self) -> u16 {
        *self
    }
}

#[cfg(feature = "http")]
impl StatusField for ::http::StatusCode {
    fn code(&self) -> u16 {
        self.as_u16()
    }
}

/// The types that `retry_after = field` takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a wait",
    label = "`retry_after` takes a field of type `Duration` or `Option<Duration>`",
    note = "for another type, implement `Classify` by hand"
)]
pub trait WaitField {
    /// The wait, if there is one.
    fn wait(&self) -> Option<Duration>;
}

impl WaitField for Duration {
    fn wait(&self) -> Option<Duration> {
        Some(*self)
    }
}

impl WaitField for Option<Duration> {
    fn wait(&self) -> Option<Duration> {
        *self
    }
}

/// A field, for the rules about its type. Its own method is found first if it is an [`Error`],
/// otherwise the method of [`NoRule`].
pub struct FieldOf<'a, E>(pub &'a E);

impl<E: Error + 'static> FieldOf<'_, E> {
    /// Returns the class that a rule gives it.
    pub fn __rule(&self) -> Option<Class> {
        registered::class(self.0)
    }
}

/// See [`FieldOf`].
pub trait NoRule {
    /// Rules exist for errors only.
    fn __rule(&self) -> Option<Class> {
        None
    }
}

impl<E> NoRule for FieldOf<'_, E> {}
