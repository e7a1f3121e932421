//! [`FailedAttempt`]: what is decided about; and [`MatchOutcome`], what matchers and closures make
//! of it together.

use core::time::Duration;

use crate::call::session::Verdict;
use crate::classify::Class;
use crate::classify::probe::ErrorDisplay;
use crate::outcome::error::Interrupted;
use crate::retrier::values::FailedValue;

/// How an attempt failed, as a [`Decider`](super::Decider) sees it.
#[derive(Debug)]
pub enum FailedAttempt<'a, E> {
    /// It failed with its own error.
    Error(&'a E),
    /// It was cut off, and so has no error of its own.
    Interrupted(&'a Interrupted),
    /// It returned a value that counts as a failure.
    Value(&'a dyn FailedValue),
}

/// What was decided about a failure.
#[derive(Clone, Copy, Debug)]
pub struct MatchOutcome {
    pub(super) list: List,
    pub(super) aborted: bool,
    /// Whether it must not be retried, whatever the lists say.
    pub(super) barred: bool,
    /// Whether a predicate picked the value, in which case the breaker counts a success.
    pub(super) picked: bool,
    pub(super) hint: Option<Duration>,
    pub(super) class: Class,
}

/// The verdict of the list of failures to retry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum List {
    /// There is no list, so every failure is retried.
    None,
    Matches,
    Misses,
}

impl MatchOutcome {
    /// For a value that is retried whatever the matchers say.
    pub(super) const PICKED: Self = Self {
        list: List::Matches,
        aborted: false,
        barred: false,
        picked: true,
        hint: None,
        class: Class::empty(),
    };

    pub(super) fn verdict(self, error: ErrorDisplay<'_>) -> Verdict<'_> {
        let Self { list, aborted, barred, picked, hint, class } = self;
        let retried = !aborted && list != List::Misses;
        Verdict { retry: retried && !barred, failure: retried && !picked, hint, class, error }
    }

    /// Consults another matcher of the list, unless one has matched already.
    pub(super) fn or_matches(&mut self, matches: impl FnOnce() -> bool) {
        if !self.aborted && self.list != List::Matches {
            self.list = if matches() { List::Matches } else { List::Misses };
        }
    }

    #[cfg(feature = "tower")]
    /// Prevents a retry, whatever the list says, because one is impossible.
    pub(crate) fn abort(&mut self) {
        self.barred = true;
    }
}
