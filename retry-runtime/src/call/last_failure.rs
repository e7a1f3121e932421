//! The last failure of a call, kept across its waits.
//!
//! A call may end before another attempt fails: rejected by the breaker, or cut off by the
//! deadline. It then ends with the last real error. A call that cannot end in that way keeps
//! nothing, so its errors need not be `Send`.

use core::marker::PhantomData;

use crate::call::attempt_timeout::Is;

/// A place for the last failure.
pub trait FailureSlot {
    /// The type of a failure.
    type Failure;

    /// Nothing has failed yet.
    fn none() -> Self;

    /// Stores this failure in place of the previous one.
    fn keep(&mut self, failure: Self::Failure);

    /// Takes the failure out, leaving the slot empty.
    #[must_use]
    fn take(&mut self) -> Self;
}

/// The last failure.
#[derive(Debug)]
pub struct LastFailure<R>(Option<R>);

impl<R> FailureSlot for LastFailure<R> {
    type Failure = R;

    fn none() -> Self {
        Self(None)
    }

    fn keep(&mut self, failure: R) {
        self.0 = Some(failure);
    }

    fn take(&mut self) -> Self {
        Self(self.0.take())
    }
}

impl<R> LastFailure<R> {
    /// The last failure, if there was one.
    pub(crate) fn into_option(self) -> Option<R> {
        self.0
    }

    /// The failure after which the call waited.
    pub fn last(self) -> R {
        self.last_or_else(|| unreachable!("a failure that is retried is kept over the wait"))
    }

    /// The last failure, or `other` if there was none.
    pub fn last_or_else(self, other: impl FnOnce() -> R) -> R {
        self.0.unwrap_or_else(other)
    }
}

/// Keeps nothing: for a shared policy, where only the policy can tell that nothing needs to be
/// kept.
#[derive(Debug)]
pub struct NoFailure<R>(PhantomData<fn() -> R>);

impl<R> FailureSlot for NoFailure<R> {
    type Failure = R;

    fn none() -> Self {
        Self(PhantomData)
    }

    fn keep(&mut self, failure: R) {
        drop(failure);
    }

    fn take(&mut self) -> Self {
        Self::none()
    }
}

impl<R> NoFailure<R> {
    /// Returns `other()`.
    pub fn last_or_else(self, other: impl FnOnce() -> R) -> R {
        other()
    }
}

/// Keeps nothing.
impl FailureSlot for () {
    type Failure = ();

    fn none() {}

    fn keep(&mut self, (): ()) {}

    fn take(&mut self) {}
}

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
