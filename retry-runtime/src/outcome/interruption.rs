//! Whether a return type can say that an attempt was cut off: found where the macro
//! expands, by method resolution (see [`crate::classify::probe`]), and not demanded.

use core::marker::PhantomData;

use crate::outcome::Interruptible;
use crate::outcome::error::Interrupted;

/// The return type of a function.
#[derive(Debug)]
pub struct Returns<R>(PhantomData<fn() -> R>);

impl<R> Returns<R> {
    /// What the function returns.
    #[inline(always)]
    pub const fn this() -> Self {
        Self(PhantomData)
    }
}

/// Found first, where it holds.
pub trait CanSay<R> {
    #[doc(hidden)]
    fn __interruption(&self) -> Option<fn(Interrupted) -> R>;
}

impl<R: Interruptible> CanSay<R> for Returns<R> {
    #[inline(always)]
    fn __interruption(&self) -> Option<fn(Interrupted) -> R> {
        Some(R::interrupted)
    }
}

/// Found else: it is one reference further away.
pub trait CannotSay<R> {
    #[doc(hidden)]
    fn __interruption(&self) -> Option<fn(Interrupted) -> R>;
}

impl<R> CannotSay<R> for &Returns<R> {
    #[inline(always)]
    fn __interruption(&self) -> Option<fn(Interrupted) -> R> {
        None
    }
}
