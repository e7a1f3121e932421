//! Retries inside retries: a function that is retried, called during an attempt of another that is
//! retried too.
//!
//! Two separate questions:
//!
//! - *Is a function around this call being retried, and does it want its callees to make one
//!   attempt each?* ([`once`]) The answer has to be exact, so functions with `nested = once` mark
//!   the thread during each poll of an attempt that is a retry ([`Inside`]).
//! - *How many attempts did the retries of this call make inside?* This concerns every call, so it
//!   must cost nothing until something fails: an inner call leaves a note on its thread when it
//!   ends, and the outer call finds it when its own attempt then fails, mostly in the same poll. A
//!   note from another task is ignored. So is one from a call whose first failure came before the
//!   attempt began: that call runs beside this one, not inside it. (A call beside it, in the same
//!   task, that first fails and ends during the attempt is mistaken for one inside.)

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::task::Id;

use crate::base::name::Name;

thread_local! {
    /// The task whose calls should make one attempt; `Some(TaskId(None))` outside any task.
    static ONCE: Cell<Option<TaskId>> = const { Cell::new(None) };
    static NOTE: RefCell<Option<Note>> = const { RefCell::new(None) };
}

/// The task being polled, or `None` if the thread is not running one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TaskId(Option<Id>);

impl TaskId {
    fn here() -> Self {
        Self(tokio::task::try_id())
    }
}

/// Returns whether a function with `nested = once` around this call is being retried.
pub(crate) fn once() -> bool {
    // An attempt that drives an executor itself may poll another task in between.
    ONCE.get().is_some_and(|task| task == TaskId::here())
}

/// While it lives, calls on this thread make one attempt.
pub struct Guard {
    before: Option<TaskId>,
}

impl Guard {
    /// Takes effect only if `is_retry`.
    pub(crate) fn new(is_retry: bool) -> Self {
        let before = ONCE.get();
        if is_retry {
            ONCE.set(Some(TaskId::here()));
        }
        Self { before }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        ONCE.set(self.before);
    }
}

pin_project_lite::pin_project! {
    /// An attempt of a function with `nested = once`.
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct Inside<F> {
        #[pin]
        attempt: F,
        is_retry: bool,
    }
}

impl<F> Inside<F> {
    /// Wraps the body.
    #[inline(always)]
    pub(crate) fn new(is_retry: bool, attempt: F) -> Self {
        Self { attempt, is_retry }
    }
}

impl<F: Future> Future for Inside<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if !*this.is_retry {
            return this.attempt.poll(cx);
        }
        let _guard = Guard::new(true);
        this.attempt.poll(cx)
    }
}

/// The note that a call leaves for the call around it.
#[derive(Clone)]
struct Note {
    task: TaskId,
    /// The moment at which the call failed for the first time.
    since: Moment,
    name: Name,
    attempts: u32,
}

/// A position in the order of all first failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment(NonZeroU32);

static FAILURES: AtomicU32 = AtomicU32::new(1);

impl Moment {
    /// No call that fails for the first time from now on is earlier than this.
    fn now() -> Self {
        Self::of(FAILURES.load(Ordering::Relaxed))
    }

    /// The position of a call that fails for the first time now.
    fn next() -> Self {
        Self::of(FAILURES.fetch_add(1, Ordering::Relaxed))
    }

    fn of(count: u32) -> Self {
        Self(NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN))
    }

    /// Returns whether this is not before `other`. The count starts again after four billion
    /// failures, of which no more than half may come between the two.
    fn is_since(self, other: Self) -> bool {
        self.0.get().wrapping_sub(other.0.get()) <= u32::MAX / 2
    }
}

/// The place of a call in the order of failures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    /// The moment at which the current attempt began; `None` for the first, which is not tracked.
    began: Option<Moment>,
    /// The moment at which the call failed for the first time; `None` until then.
    since: Option<Moment>,
}

/// The attempts made inside a call, during its retries.
#[derive(Clone, Debug)]
pub(crate) struct InnerCalls {
    pub(crate) name: Name,
    pub(crate) attempts: u32,
}

impl Moments {
    /// No failure yet.
    pub(crate) const NONE: Self = Self { began: None, since: None };

    /// Called when a retry begins.
    #[inline]
    pub(crate) fn attempt_begins(&mut self) {
        self.began = Some(Moment::now());
    }

    /// Called when an attempt has failed: looks for what was called inside it.
    #[inline]
    pub(crate) fn attempt_ended(&mut self) -> Option<InnerCalls> {
        if self.since.is_none() {
            self.since = Some(Moment::next());
        }
        let began = self.began.take()?;
        // If no call has failed for the first time meanwhile, no inner call has.
        if Moment::now() == began {
            return None;
        }
        // An error means that the thread is ending and its note is gone.
        NOTE.try_with(|note| {
            let note = note.borrow();
            let note = note.as_ref().filter(|note| note.since.is_since(began))?;
            let inside = || InnerCalls { name: note.name.clone(), attempts: note.attempts };
            (note.task == TaskId::here()).then(inside)
        })
        .ok()
        .flatten()
    }

    /// Called when the call has ended after `attempts`: leaves a note for the call around it, which
    /// includes what was counted inside this one. A call that the breaker rejected has never
    /// failed, and leaves none.
    pub(crate) fn call_ended(self, name: &Name, attempts: u32, inside: Option<&InnerCalls>) {
        let Some(since) = self.since else { return };
        let attempts = attempts.saturating_add(inside.map_or(0, |inside| inside.attempts));
        let note = Note { task: TaskId::here(), since, name: name.clone(), attempts };
        let _gone = NOTE.try_with(|left| left.replace(Some(note)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_failures_outlives_its_count() {
        let (last, first) = (Moment::of(u32::MAX), Moment::of(1));
        assert!(first.is_since(last) && !last.is_since(first));
        assert!(last.is_since(last) && Moment::of(7).is_since(first));
    }
}
