//! The last failure of a call, kept over its waits.
//!
//! A call may end before another attempt fails: rejected by the breaker, or cut
//! off by the deadline. What it ends with is then the last real error. A call
//! that cannot end so keeps nothing, and its errors need not be `Send`.

use core::marker::PhantomData;

use crate::call::attempt_timer::Is;

/// A place for the last failure.
pub trait FailureSlot {
    /// What is kept.
    type Failure;

    /// Nothing has failed yet.
    fn none() -> Self;

    /// Keeps this failure, and forgets the one before it.
    fn keep(&mut self, failure: Self::Failure);

    /// What is kept, leaving nothing.
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
    /// The failure that the call has waited after.
    pub fn last(self) -> R {
        self.last_or_else(|| unreachable!("a failure that is retried is kept over the wait"))
    }

    /// The last failure, or `other` if there was none.
    pub fn last_or_else(self, other: impl FnOnce() -> R) -> R {
        self.0.unwrap_or_else(other)
    }
}

/// Nothing is kept, where only the policy could tell that nothing needs to be.
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
    /// `other`.
    pub fn last_or_else(self, other: impl FnOnce() -> R) -> R {
        other()
    }
}

/// Nothing is kept.
impl FailureSlot for () {
    type Failure = ();

    fn none() {}

    fn keep(&mut self, (): ()) {}

    fn take(&mut self) {}
}

/// Whether a shared policy has something kept.
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
