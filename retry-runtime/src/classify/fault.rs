//! Errors of the closure API: their types are parameters, so a bound has to be named.

// Its types are public for expansions, and nothing shows them.
#![allow(missing_debug_implementations)]

use core::error::Error;
use core::fmt::Display;
use std::borrow::Cow;

use crate::base::sealed::Seal;
use crate::classify::probe::ErrorView;
use crate::outcome::error::RetryError;

/// An error that the closure API can classify.
///
/// `Kind` is never named: exactly one fits each error type, and the compiler finds it.
/// This trait ignores an implementation of [`Classify`](crate::Classify), because two kinds for one type
/// would be ambiguous; use `Retrier::classified` for that.
///
/// Sealed: it is implemented for every [`Error`], for `anyhow::Error` and anything else that
/// exposes a `dyn Error + Send + Sync`, for boxed errors, and for texts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not reveal what kind of failure it is",
    label = "this error has neither a text nor a source that can be inspected",
    note = "if `{Self}` is your own type, implement `std::error::Error` for it, so that its text can \
            be read",
    note = "or implement `retry_runtime::Classify` for it and add `.classified()` to the retrier, \
            before any closures",
    note = "or add `.opaque()` to the retrier, before any closures: it then reads nothing from the \
            error but its text (`Display`), and `.when(|error: &{Self}| …)` decides"
)]
pub trait Fault<Kind>: Display {
    /// Returns what can be read from the error.
    #[doc(hidden)]
    fn view(&self, _: Seal) -> ErrorView<'_>;
}

/// The kind of an [`Error`].
pub enum SourceChain {}

/// The kind of a type that exposes a `dyn Error + Send + Sync`.
pub enum DynError {}

/// The kind of a box whose error cannot be shared between threads.
pub enum LocalDynError {}

/// The kind of a [`RetryError`] around a [`DynError`].
pub enum RetriedDynError {}

/// The kind of a text.
pub enum PlainText {}

impl<E: Error + 'static> Fault<SourceChain> for E {
    fn view(&self, _: Seal) -> ErrorView<'_> {
        ErrorView::Typed(self)
    }
}

impl<E: AsRef<dyn Error + Send + Sync> + Display> Fault<DynError> for E {
    fn view(&self, _: Seal) -> ErrorView<'_> {
        ErrorView::Typed(self.as_ref())
    }
}

macro_rules! faults {
    ($($Kind:ident: $($Type:ty),+ => |$error:ident| $view:expr;)+) => {$($(
        // A compile error that listed these would be longer and no clearer.
        #[diagnostic::do_not_recommend]
        impl Fault<$Kind> for $Type {
            fn view(&self, _: Seal) -> ErrorView<'_> {
                let $error = self;
                $view
            }
        }
    )+)+};
}

faults! {
    LocalDynError: Box<dyn Error>, Box<dyn Error + Send> => |error| ErrorView::Typed(&**error);
    PlainText: String, &str, Cow<'_, str> => |text| ErrorView::Text(text);
}

/// The error of an inner retried call. It is not an [`Error`] unless its last error is one, so it
/// is read as a text, including the cause.
#[diagnostic::do_not_recommend]
impl<E: Fault<PlainText> + Display> Fault<PlainText> for RetryError<E> {
    fn view(&self, _: Seal) -> ErrorView<'_> {
        ErrorView::Text(self)
    }
}

#[diagnostic::do_not_recommend]
impl<E: AsRef<dyn Error + Send + Sync> + Display> Fault<RetriedDynError> for RetryError<E> {
    fn view(&self, _: Seal) -> ErrorView<'_> {
        ErrorView::Text(self)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::classify::probe::Classifier;
    use crate::classify::{Class, Classify};

    fn reset() -> io::Error {
        io::Error::from(io::ErrorKind::ConnectionReset)
    }

    /// Its text and its type contradict what it says itself.
    #[derive(Debug)]
    struct Everything;

    impl Display for Everything {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.write_str("HTTP 500")
        }
    }

    impl Error for Everything {}

    impl Classify for Everything {
        fn class(&self) -> Class {
            Class::RATE_LIMIT
        }
    }

    #[test]
    fn the_closure_api_finds_the_kind_of_fault() {
        fn class<E: Fault<K>, K>(error: &E) -> Class {
            error.view(Seal).class()
        }
        fn generic<E: Error + Send + Sync + 'static>(error: &E) -> Class {
            class(error)
        }
        fn own<E: Classify>(error: &E) -> Class {
            Classifier::Own(error).class()
        }
        assert_eq!(class(&reset()), Class::NETWORK);
        assert_eq!(generic(&reset()), Class::NETWORK);
        assert_eq!(class(&anyhow::Error::from(reset())), Class::NETWORK);
        assert_eq!(class(&Box::<dyn Error + Send + Sync>::from(reset())), Class::NETWORK);
        assert_eq!(class(&(Box::new(reset()) as Box<dyn Error>)), Class::NETWORK);
        assert_eq!(class(&(Box::new(reset()) as Box<dyn Error + Send>)), Class::NETWORK);
        assert_eq!(class(&"HTTP 500"), Class::SERVER_ERROR);
        assert_eq!(class(&String::from("HTTP 500")), Class::SERVER_ERROR);
        assert_eq!(class(&Cow::Borrowed("HTTP 500")), Class::SERVER_ERROR);
        assert_eq!(class(&Everything), Class::SERVER_ERROR);
        assert_eq!(own(&Everything), Class::RATE_LIMIT);
    }
}
