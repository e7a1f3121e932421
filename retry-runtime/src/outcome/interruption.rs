//! The test of whether a return type can represent an attempt that timed out. Determined where the
//! macro expands, by method resolution (see [`crate::classify::probe`]), rather than required.

// Its types are public for expansions, and nothing shows them.
#![allow(missing_debug_implementations)]

use core::marker::PhantomData;

use crate::outcome::Interruptible;
use crate::outcome::interrupted::Interrupted;

/// The return type of a function.
pub struct Returns<R>(PhantomData<fn() -> R>);

impl<R> Returns<R> {
    /// The type that the function returns.
    #[inline(always)]
    pub const fn this() -> Self {
        Self(PhantomData)
    }

    /// Requires that the function returns such an `outcome`: the compiler infers the type.
    #[inline(always)]
    pub const fn infer(&self, _outcome: &R) {}
}

/// Found first, for types that can.
pub trait CanInterrupt<R> {
    #[doc(hidden)]
    fn __interruption(&self) -> Option<fn(Interrupted) -> R>;
}

impl<R: Interruptible> CanInterrupt<R> for Returns<R> {
    #[inline(always)]
    fn __interruption(&self) -> Option<fn(Interrupted) -> R> {
        Some(R::interrupted)
    }
}

/// Found otherwise, because it needs one more reference.
pub trait CannotInterrupt<R> {
    #[doc(hidden)]
    fn __interruption(&self) -> Option<fn(Interrupted) -> R>;
}

impl<R> CannotInterrupt<R> for &Returns<R> {
    #[inline(always)]
    fn __interruption(&self) -> Option<fn(Interrupted) -> R> {
        None
    }
}
