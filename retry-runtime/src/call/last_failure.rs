//! The last failure of a call, kept across its waits.
//!
//! A call may end before another attempt fails: rejected by the breaker, or cut off by the
//! deadline. It then ends with the last real error. A call that cannot end in that way keeps
//! nothing, so its errors need not be `Send`.

use core::marker::PhantomData;

use crate::call::attempt_limit::Is;

/// A slot for the last failure of a call, empty at first.
pub trait FailureSlot {
    /// Creates an empty slot.
    fn none() -> Self;

    /// Takes the failure out, leaving the slot empty.
    #[must_use]
    fn take(&mut self) -> Self;
}

/// A slot for outcomes of type `R`, which it may or may not keep.
pub trait Keeps<R>: FailureSlot {
    /// Stores this failure in place of the previous one, or drops it.
    fn keep(&mut self, outcome: R);

    /// Returns the last failure that was kept, or else calls `other`.
    fn last_or_else(self, other: impl FnOnce() -> R) -> R;
}

/// The last failure.
#[derive(Debug)]
pub struct LastFailure<R>(Option<R>);

impl<R> FailureSlot for LastFailure<R> {
    fn none() -> Self {
        Self(None)
    }

    fn take(&mut self) -> Self {
        Self(self.0.take())
    }
}

impl<R> Keeps<R> for LastFailure<R> {
    #[inline(always)]
    fn keep(&mut self, outcome: R) {
        self.0 = Some(outcome);
    }

    #[inline(always)]
    fn last_or_else(self, other: impl FnOnce() -> R) -> R {
        self.0.unwrap_or_else(other)
    }
}

impl<R> LastFailure<R> {
    /// Returns the last failure, if there was one.
    pub(crate) fn into_option(self) -> Option<R> {
        self.0
    }
}

/// A slot that keeps nothing, for a shared policy: a type parameter lets the compiler infer `R`.
#[derive(Debug)]
pub struct NoFailure<R>(PhantomData<fn() -> R>);

/// Implements a slot that keeps nothing.
macro_rules! keeps_nothing {
    ($slot:ty, $none:expr $(, $generic:ident)?) => {
        impl$(<$generic>)? FailureSlot for $slot {
            fn none() -> Self {
                $none
            }

            fn take(&mut self) -> Self {
                $none
            }
        }

        impl<R> Keeps<R> for $slot {
            #[inline(always)]
            fn keep(&mut self, _: R) {}

            #[inline(always)]
            fn last_or_else(self, other: impl FnOnce() -> R) -> R {
                other()
            }
        }
    };
}

keeps_nothing!((), ());
keeps_nothing!(NoFailure<R>, Self(PhantomData), R);

/// Picks a slot by whether a shared policy needs the last failure.
pub trait PickFailureSlot {
    /// [`LastFailure`] or [`NoFailure`].
    type Slot<R>;
}

impl PickFailureSlot for Is<true> {
    type Slot<R> = LastFailure<R>;
}

impl PickFailureSlot for Is<false> {
    type Slot<R> = NoFailure<R>;
}
