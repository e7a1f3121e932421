//! Retries inside retries: a function that is retried, called in an attempt of
//! one that is retried too.
//!
//! Two questions, answered apart:
//!
//! - *Is a function around this call being retried, and wants one attempt of what
//!   it calls?* ([`once`]) It has to be exact, so functions with `nested = once`
//!   say so at each poll of an attempt that is a retry ([`Inside`]).
//! - *How many attempts did the retries of this call make inside?* Asked of every
//!   call, so it must cost nothing until something fails: an inner call leaves a
//!   note on its thread when it ends, and the outer one finds it when its own
//!   attempt fails in turn, mostly in the same poll. A note of another task is
//!   none, nor is one of a call that had failed before the attempt began: it goes
//!   on beside this one. (A call beside it that both begins and ends in its time,
//!   in the same task, is taken for one inside.)

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::cell::{Cell, RefCell};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::Id;

use crate::base::name::Name;

thread_local! {
    /// The task in which one attempt is wanted; a thread without a task has none.
    static ONCE: Cell<Option<Task>> = const { Cell::new(None) };
    static NOTE: RefCell<Option<Note>> = const { RefCell::new(None) };
}

/// The task that is being polled; none where a thread runs no task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task(Option<Id>);

impl Task {
    fn here() -> Self {
        Self(tokio::task::try_id())
    }
}

/// Whether a function around this call is being retried by `nested = once`.
pub(crate) fn once() -> bool {
    // Another task may be polled in between, where the attempt drives an executor itself.
    ONCE.get().is_some_and(|task| task == Task::here())
}

/// While it lives, what is called on this thread makes one attempt.
#[derive(Debug)]
pub struct Guard {
    before: Option<Task>,
}

impl Guard {
    /// Begins, if `is_retry`.
    pub fn new(is_retry: bool) -> Self {
        let before = ONCE.get();
        if is_retry {
            ONCE.set(Some(Task::here()));
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
    #[derive(Debug)]
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct Inside<F> {
        #[pin]
        attempt: F,
        is_retry: bool,
    }
}

impl<F> Inside<F> {
    /// Around the body.
    #[inline(always)]
    pub fn new(is_retry: bool, attempt: F) -> Self {
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

/// What a call leaves for the one around it.
#[derive(Clone)]
struct Note {
    task: Task,
    /// When the call failed for the first time.
    since: Moment,
    name: Name,
    attempts: u32,
}

/// A place in the order of all first failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(NonZeroU64);

static FAILURES: AtomicU64 = AtomicU64::new(1);

impl Moment {
    /// Of the calls that fail for the first time from now on, none is earlier.
    fn now() -> Self {
        Self::of(FAILURES.load(Ordering::Relaxed))
    }

    /// A call fails for the first time.
    fn next() -> Self {
        Self::of(FAILURES.fetch_add(1, Ordering::Relaxed))
    }

    fn of(count: u64) -> Self {
        Self(NonZeroU64::new(count).unwrap_or(NonZeroU64::MAX))
    }
}

/// The attempts that the retries of a call made inside of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inner {
    /// When the attempt under way began; `None` for the first, which nobody
    /// looks at before it has failed.
    began: Option<Moment>,
    /// When the call failed for the first time; `None` until then.
    since: Option<Moment>,
    pub(crate) name: Option<Name>,
    pub(crate) attempts: u32,
}

impl Inner {
    /// A retry begins.
    pub(crate) fn attempt_begins(&mut self) {
        self.began = Some(Moment::now());
    }

    /// An attempt has ended without success: what did it make inside?
    pub(crate) fn attempt_ended(&mut self) {
        self.since.get_or_insert_with(Moment::next);
        let Some(began) = self.began.take() else { return };
        let is_inside = |note: &&Note| note.since >= began && note.task == Task::here();
        // Gone while the thread ends.
        let _gone = NOTE.try_with(|note| {
            if let Some(note) = note.borrow().as_ref().filter(is_inside) {
                self.name = Some(note.name.clone());
                self.attempts = self.attempts.saturating_add(note.attempts);
            }
        });
    }

    /// The call has ended after `attempts`: a note for the call around it, with
    /// what happened inside of this one counted too. A call that was rejected
    /// has never failed, and has made none.
    pub(crate) fn call_ended(&self, name: &Name, attempts: u32) {
        let Some(since) = self.since else { return };
        let attempts = attempts.saturating_add(self.attempts);
        let note = Note { task: Task::here(), since, name: name.clone(), attempts };
        let _gone = NOTE.try_with(|left| left.replace(Some(note)));
    }
}
