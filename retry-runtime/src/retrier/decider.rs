//! [`Decider`]: how a retrier reads errors, with the closures that it has for errors of one type;
//! and what follows from a failure.

// Its types are public for expansions, and nothing shows them.
#![allow(missing_debug_implementations)]

use core::fmt::Display;
use core::ops::ControlFlow;
use core::time::Duration;
use std::sync::Arc;

use crate::base::sealed::{Seal, Sealed};
use crate::call::verdict::{HintSource, Judgement, OwnWait, Verdict};
use crate::classify::fault::Fault;
use crate::classify::matchers::Matcher;
use crate::classify::probe::{self, Classifier, ErrorDisplay, ErrorView};
use crate::classify::{Class, Classify, Hint};
use crate::event::retry_event::RetryEvent;
use crate::outcome::error::SourceOf;
use crate::outcome::interrupted::{AttemptError, Interrupted};
use crate::retrier::listener::Listener;
use crate::retrier::values::{FailedValue, PickedValue};

/// Decides about failures with errors of type `E`. `Kind` is inferred.
///
/// Sealed: [`Readable`], [`Classified`], [`Opaque`] and [`ForError`] implement it.
#[diagnostic::on_unimplemented(
    message = "this retrier cannot decide about errors of type `{E}`",
    note = "add `.classified()` to the retrier if the error implements `retry_runtime::Classify`, \
            or `.opaque()` if nothing can be read from it; before any closures"
)]
pub trait Decider<E, Kind>: ReadsError {
    /// Returns what decides, without the kind: an error type that cannot be read is then reported
    /// where the operation is given, and not again at each `.await`.
    #[doc(hidden)]
    fn rules(&self) -> &ErrorRules<E>;
}

/// Reads the class of an error and what the server said about the next attempt.
pub(crate) type ReadClass = fn(Classifier<'_>) -> (Class, Option<Hint>);

/// The part of an error that a retrier reads: all of it, or what it says of itself.
///
/// Sealed: [`Readable`], [`Classified`], [`Opaque`] and [`ForError`] implement it.
pub trait ReadsError: Sealed {
    #[doc(hidden)]
    const READ: ReadClass = probe::read_own;
}

impl ReadsError for Readable {
    const READ: ReadClass = probe::read;
}

impl ReadsError for Classified {}
impl ReadsError for Opaque {}

impl<E> ReadsError for ForError<E> {
    const READ: ReadClass = probe::read;
}

/// Errors are judged by their types and texts: any [`Error`](core::error::Error) that is `'static`,
/// `anyhow::Error`, boxed errors, texts. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Readable;

impl Sealed for Readable {}

impl<E: Fault<Kind>, Kind> Decider<E, Kind> for Readable {
    fn rules(&self) -> &ErrorRules<E> {
        &ErrorRules {
            read: |error| {
                let view = error.view(Seal);
                ErrorParts { classifier: Classifier::View(view), view, display: error }
            },
            source_of: |error| Classifier::View(error.view(Seal)).source(),
            closures: None,
        }
    }
}

/// Errors classify themselves, through [`Classify`]:
/// [`Retrier::classified`](crate::Retrier::classified).
#[derive(Clone, Copy, Debug, Default)]
pub struct Classified;

impl Sealed for Classified {}

impl<E: Classify> Decider<E, ()> for Classified {
    fn rules(&self) -> &ErrorRules<E> {
        &ErrorRules {
            read: |error| ErrorParts {
                classifier: Classifier::Own(error),
                view: ErrorView::Text(error),
                display: error,
            },
            source_of: |error| Classifier::Own(error).source(),
            closures: None,
        }
    }
}

/// Errors have no class and no hint: [`Retrier::opaque`](crate::Retrier::opaque).
#[derive(Clone, Copy, Debug, Default)]
pub struct Opaque;

impl Sealed for Opaque {}

impl<E: Display> Decider<E, ()> for Opaque {
    fn rules(&self) -> &ErrorRules<E> {
        &ErrorRules {
            read: |error| ErrorParts {
                classifier: Classifier::View(ErrorView::Nothing),
                view: ErrorView::Text(error),
                display: error,
            },
            source_of: |_| None,
            closures: None,
        }
    }
}

/// Errors of type `E`, read in any of these ways, and the closures about them: what
/// [`Retrier::classify`](crate::Retrier::classify), [`Retrier::when`](crate::Retrier::when),
/// [`Retrier::retry_after`](crate::Retrier::retry_after),
/// [`Retrier::on_retry`](crate::Retrier::on_retry) and
/// [`Retrier::for_error`](crate::Retrier::for_error) make of a retrier.
pub struct ForError<E>(pub(super) ErrorRules<E>);

impl<E> Clone for ForError<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

retry_rules::partial_debug!([E] ForError<E>);

impl<E> Sealed for ForError<E> {}

/// Finds the class of an error: all but [`Opaque`].
///
/// Sealed: [`Readable`], [`Classified`] and [`ForError`] implement it.
#[diagnostic::on_unimplemented(
    message = "`.opaque()` reads no class from an error, so every failure counts",
    note = "remove `.opaque()`, or state the class of an error: `.classify(|error| …)` before \
            `.uncounted(…)`"
)]
pub trait ReadsClass: ReadsError {}

impl ReadsClass for Readable {}
impl ReadsClass for Classified {}
impl<E> ReadsClass for ForError<E> {}

impl<E> Decider<E, ()> for ForError<E> {
    fn rules(&self) -> &ErrorRules<E> {
        &self.0
    }
}

/// Reads an error.
type Read<E> = for<'e> fn(&'e E) -> ErrorParts<'e>;

/// The parts read from an error of any type.
pub(super) struct ErrorParts<'e> {
    /// The source of its class and hint.
    classifier: Classifier<'e>,
    /// The source of its texts.
    view: ErrorView<'e>,
    /// Its text in events.
    display: &'e dyn Display,
}

/// The closures of a retrier.
pub(super) struct Closures<E> {
    pub(super) classify: Vec<Arc<ClassOf<E>>>,
    pub(super) when: Vec<Arc<When<E>>>,
    pub(super) retry_after: Vec<Arc<RetryAfter<E>>>,
    pub(super) wait_by: Vec<Arc<WaitBy<E>>>,
    pub(super) on_retry: Vec<Arc<OnRetry<E>>>,
}

type ClassOf<E> = dyn Fn(&E) -> Option<Class> + Send + Sync;
type When<E> = dyn Fn(&E) -> bool + Send + Sync;
type RetryAfter<E> = dyn Fn(&E) -> Option<Duration> + Send + Sync;
type WaitBy<E> = dyn Fn(u32, &E, Duration) -> ControlFlow<(), Duration> + Send + Sync;
type OnRetry<E> = dyn Fn(&RetryEvent<'_, E>) + Send + Sync;

impl<E> Clone for Closures<E> {
    fn clone(&self) -> Self {
        let Self { classify, when, retry_after, wait_by, on_retry } = self;
        Self {
            classify: classify.clone(),
            when: when.clone(),
            retry_after: retry_after.clone(),
            wait_by: wait_by.clone(),
            on_retry: on_retry.clone(),
        }
    }
}

impl<E> Default for Closures<E> {
    fn default() -> Self {
        Self {
            classify: Vec::new(),
            when: Vec::new(),
            retry_after: Vec::new(),
            wait_by: Vec::new(),
            on_retry: Vec::new(),
        }
    }
}

/// `retry_on` and `abort_on`, shared, so that a retrier is cheap to clone; and `uncounted`.
#[derive(Clone, Debug)]
pub(super) struct MatcherLists {
    pub(super) retry_on: Option<Arc<[Matcher]>>,
    pub(super) abort_on: Option<Arc<[Matcher]>>,
    pub(super) uncounted: Class,
}

/// The failure of an attempt.
pub(super) enum FailedAttempt<'a, E> {
    /// It failed with its own error.
    Error(&'a E),
    /// It was cut off, and so has no error of its own.
    Interrupted(&'a Interrupted),
    /// It returned a value that counts as a failure.
    Value(&'a dyn FailedValue),
}

impl<'a, E> FailedAttempt<'a, E> {
    /// The failure of an attempt with this outcome; a value is a failure for this reason.
    pub(super) fn of<T>(
        outcome: &'a Result<T, AttemptError<E>>,
        value: Option<&'a dyn FailedValue>,
    ) -> Self {
        match outcome.as_ref().map_err(AttemptError::as_result) {
            Err(failed) => failed.map_or_else(FailedAttempt::Interrupted, FailedAttempt::Error),
            Ok(_) => FailedAttempt::Value(value.unwrap_or(&PickedValue)),
        }
    }
}

/// The rules that decide about errors of type `E`.
pub struct ErrorRules<E> {
    read: Read<E>,
    /// See [`SourceOf`].
    pub(crate) source_of: SourceOf<E>,
    // `None` if there are none, so that a constant can be borrowed.
    closures: Option<Arc<Closures<E>>>,
}

impl<E> Clone for ErrorRules<E> {
    fn clone(&self) -> Self {
        Self { read: self.read, source_of: self.source_of, closures: self.closures.clone() }
    }
}

/// The class that the closures give an error. The closure that was added last has the first say.
fn stated_class<E>(closures: Option<(&Closures<E>, &E)>) -> Option<Class> {
    let (closures, error) = closures?;
    closures.classify.iter().rev().find_map(|f| f(error)).map(Class::completed)
}

/// The judgement on an error as far as no list and no predicate decides: its class, if it is needed,
/// and the wait, each as the closures read it, or else as the error states it. A retrier that reads
/// nothing from the error gives waits of its own.
fn judgement_by<E>(
    closures: Option<(&Closures<E>, &E)>,
    classifier: Classifier<'_>,
    view: ErrorView<'_>,
    read: Option<ReadClass>,
) -> Judgement {
    let stated = stated_class(closures.filter(|_| read.is_some()));
    let (class, hint) = match read.filter(|_| stated.is_none()) {
        Some(read) => read(classifier),
        None => (Class::empty(), classifier.stated_hint(Class::empty())),
    };
    let wait = closures
        .and_then(|(closures, error)| closures.retry_after.iter().rev().find_map(|f| f(error)));
    let hint_source = match classifier {
        Classifier::View(ErrorView::Nothing) => HintSource::Program,
        _ => HintSource::of(view, wait.is_some()),
    };
    let hint = wait.map(Hint::Wait).or(hint);
    Judgement { hint, hint_source, class: stated.unwrap_or(class), ..Judgement::VALUE }
}

impl<E> ErrorRules<E> {
    /// The closures, to add to them.
    pub(super) fn closures(&mut self) -> &mut Closures<E> {
        Arc::make_mut(self.closures.get_or_insert_default())
    }

    /// Returns whether the retrier reads no class from this failure.
    pub(super) fn read_no_class(&self, failed: &FailedAttempt<'_, E>) -> bool {
        let FailedAttempt::Error(error) = failed else { return false };
        let is_unread =
            matches!((self.read)(error).classifier, Classifier::View(ErrorView::Nothing));
        is_unread && self.closures.as_deref().is_none_or(|closures| closures.classify.is_empty())
    }

    /// The class of an error.
    pub(super) fn class_of(&self, error: &E) -> Class {
        let closures = self.closures.as_deref().map(|closures| (closures, error));
        stated_class(closures).unwrap_or_else(|| (self.read)(error).classifier.class())
    }

    /// Returns the verdict on a failure, by the lists, the predicate of the retrier, and the
    /// predicate of the call. Values are not tested by predicates, and an attempt that was cut off
    /// has no error to test, so that no predicate picks it, as in the attribute.
    pub(super) fn verdict<'e>(
        &self,
        lists: &MatcherLists,
        read: Option<ReadClass>,
        failed: &'e FailedAttempt<'e, E>,
        when_of_call: Option<&mut dyn FnMut(&E) -> bool>,
    ) -> Verdict<'e> {
        let ErrorParts { classifier, view, display } = match failed {
            FailedAttempt::Error(error) => (self.read)(error),
            FailedAttempt::Interrupted(interrupted) => {
                let view = ErrorView::Typed(*interrupted);
                ErrorParts { classifier: Classifier::Own(*interrupted), view, display: interrupted }
            }
            FailedAttempt::Value(value) => match value.classified() {
                Some(own) => ErrorParts {
                    classifier: Classifier::Own(own),
                    view: ErrorView::Text(value),
                    display: value,
                },
                // It is retried whatever the lists say; the breaker counts a success.
                None => return Judgement::VALUE.on(ErrorDisplay::Value(value)),
            },
        };
        let closures = match failed {
            FailedAttempt::Error(error) => {
                self.closures.as_deref().map(|closures| (closures, *error))
            }
            FailedAttempt::Interrupted(_) | FailedAttempt::Value(_) => None,
        };
        let judgement = judgement_by(closures, classifier, view, read);
        let matches = |matcher: &Matcher| matcher.matches(judgement.class, view);
        let any = |list: &[Matcher]| list.iter().any(matches);
        let mut is_listed = lists.retry_on.as_deref().map(any);
        let is_aborted = lists.abort_on.as_deref().is_some_and(any);

        let mut test = |predicate: &mut dyn FnMut(&E) -> bool| match failed {
            _ if is_aborted || is_listed == Some(true) => {}
            FailedAttempt::Error(error) => is_listed = Some(predicate(error)),
            FailedAttempt::Interrupted(_) => is_listed = Some(false),
            FailedAttempt::Value(_) => {}
        };
        for when in self.closures.iter().flat_map(|closures| &closures.when) {
            test(&mut |error| when(error));
        }
        if let Some(when) = when_of_call {
            test(when);
        }
        let retry = !is_aborted && is_listed != Some(false);
        let error = match failed {
            FailedAttempt::Value(_) => ErrorDisplay::Value(display),
            _ => ErrorDisplay::Display(display, classifier),
        };
        let uncounted = lists.uncounted;
        Judgement { retry, failure: retry, uncounted, ..judgement }.on(error)
    }

    /// The judgement on an error as far as no list and no predicate decides.
    pub(super) fn unlisted_judgement(&self, error: &E) -> Judgement {
        let ErrorParts { classifier, view, .. } = (self.read)(error);
        let closures = self.closures.as_deref().map(|closures| (closures, error));
        Judgement { failure: true, ..judgement_by(closures, classifier, view, Some(probe::read)) }
    }

    /// Returns how events show this failure.
    pub(super) fn shown<'e>(&self, failed: &'e FailedAttempt<'_, E>) -> ErrorDisplay<'e> {
        match failed {
            FailedAttempt::Error(error) => {
                let ErrorParts { display, classifier, .. } = (self.read)(error);
                ErrorDisplay::Display(display, classifier)
            }
            FailedAttempt::Interrupted(interrupted) => {
                ErrorDisplay::Display(interrupted, Classifier::View(ErrorView::Nothing))
            }
            FailedAttempt::Value(value) => ErrorDisplay::Value(value),
        }
    }

    /// Returns whether there are closures.
    #[inline]
    pub(super) fn have_closures(&self) -> bool {
        self.closures.is_some()
    }

    /// Returns the wait that closures set after the failure of attempt `attempt`, or the end of the
    /// call. Each closure gets the wait of the one before it; the closures of the call come last.
    pub(super) fn wait_by(
        &self,
        failed: &FailedAttempt<'_, E>,
        attempt: u32,
        due: Duration,
        of_call: &mut dyn Listener<E>,
    ) -> OwnWait {
        let FailedAttempt::Error(error) = failed else { return None };
        let closures = self.closures.as_deref().map_or(&[][..], |closures| &closures.wait_by);
        let own = (!closures.is_empty())
            .then(|| closures.iter().try_fold(due, |due, wait_by| wait_by(attempt, error, due)));
        let due = match own {
            Some(ControlFlow::Break(())) => return own,
            Some(ControlFlow::Continue(wait)) => wait,
            None => due,
        };
        of_call.wait_by(attempt, error, due).or(own)
    }

    /// Passes a failure that will be retried to the listeners of the retrier.
    pub(super) fn on_retry(&self, event: &RetryEvent<'_, E>) {
        for listener in self.closures.iter().flat_map(|closures| &closures.on_retry) {
            listener(event);
        }
    }
}
