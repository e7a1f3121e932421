//! The last failure of a call, kept across its waits.
//!
//! A call may end before another attempt fails: rejected by the breaker, or cut off by the
//! deadline. It then ends with the last real error. A call that cannot end in that way keeps
//! nothing, so its errors need not be `Send`.

use core::marker::PhantomData;

/// A slot for outcomes of type `R`, which it may or may not keep. By default it is empty.
pub trait Keeps<R>: Default {
    /// Stores this failure in place of the previous one, or drops it.
    fn keep(&mut self, outcome: R);

    /// Returns the last failure that was kept, or else calls `other`.
    fn last_or_else(self, other: impl FnOnce() -> R) -> R;
}

/// The last failure.
pub struct LastFailure<R>(Option<R>);

impl<R> Default for LastFailure<R> {
    fn default() -> Self {
        Self(None)
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

/// A slot that keeps nothing: its type parameter lets the compiler infer `R`.
pub struct NoFailure<R>(PhantomData<fn() -> R>);

impl<R> Default for NoFailure<R> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<R> Keeps<R> for NoFailure<R> {
    #[inline(always)]
    fn keep(&mut self, _: R) {}

    #[inline(always)]
    fn last_or_else(self, other: impl FnOnce() -> R) -> R {
        other()
    }
}
