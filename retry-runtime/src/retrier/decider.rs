//! [`Decider`]: decides whether a failure is retried; [`Matchers`], which every retrier starts
//! with; [`With`], which adds a closure to a decider; and [`Boxed`], which hides its type.

use core::fmt::{self, Display};
use core::marker::PhantomData;
use std::sync::Arc;

use crate::classify::Classify;
use crate::classify::matchers::Matcher;
use crate::classify::probe::{Classifier, ErrorView, Fault};
use crate::event::retry_event::RetryEvent;
use crate::retrier::decision::{FailedAttempt, List, MatchOutcome};
use crate::retrier::hooks::Hook;

/// Decides about failures with errors of type `E`. `Kind` is inferred.
///
/// Only [`Matchers`], the types built on them, and [`Boxed`] implement it.
#[diagnostic::on_unimplemented(
    message = "this retrier cannot decide about errors of type `{E}`",
    note = "add `.classified()` to the retrier if the error implements `retry_runtime::Classify`, \
            or `.opaque()` if nothing can be read from it"
)]
pub trait Decider<E, Kind> {
    /// Returns the decision about this failure.
    fn decide(&self, failed: &FailedAttempt<'_, E>) -> MatchOutcome;

    /// Receives a failure that will be retried.
    fn on_retry(&self, event: &RetryEvent<'_, E>);

    /// Returns the displayable form of the error.
    fn shown<'e>(&self, error: &'e E) -> &'e dyn Display;
}

/// The decider of a retrier, already checked to decide about errors of type `E`.
///
/// Types that take it need no further bounds, so an error type that cannot be read is reported
/// where the operation is given, and not again at each `.await`.
pub struct Known<'r, M, E> {
    matchers: &'r M,
    functions: &'r Functions<M, E>,
}

/// The methods of the [`Decider`].
struct Functions<M, E> {
    decide: fn(&M, &FailedAttempt<'_, E>) -> MatchOutcome,
    on_retry: fn(&M, &RetryEvent<'_, E>),
    shown: for<'e> fn(&M, &'e E) -> &'e dyn Display,
}

impl<'r, M, E> Known<'r, M, E> {
    pub(super) fn new<Kind>(matchers: &'r M) -> Self
    where
        M: Decider<E, Kind>,
    {
        let functions = &Functions { decide: M::decide, on_retry: M::on_retry, shown: M::shown };
        Self { matchers, functions }
    }
}

impl<M: fmt::Debug, E> fmt::Debug for Known<'_, M, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.matchers.fmt(f)
    }
}

impl<M, E> Decider<E, ()> for Known<'_, M, E> {
    fn decide(&self, failed: &FailedAttempt<'_, E>) -> MatchOutcome {
        (self.functions.decide)(self.matchers, failed)
    }

    fn on_retry(&self, event: &RetryEvent<'_, E>) {
        (self.functions.on_retry)(self.matchers, event);
    }

    fn shown<'e>(&self, error: &'e E) -> &'e dyn Display {
        (self.functions.shown)(self.matchers, error)
    }
}

/// The lists of failures to retry and not to retry, for errors read by `R`.
///
/// Without lists, every failure is retried.
#[derive(Clone, Debug, Default)]
pub struct Matchers<R = Readable> {
    lists: Lists,
    read_by: R,
}

/// `retry_on` and `abort_on`; shared, so that a retrier is cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    pub(super) retry_on: Option<Arc<[Matcher]>>,
    pub(super) abort_on: Option<Arc<[Matcher]>>,
}

impl Matchers {
    pub(super) const NONE: Self =
        Self { lists: Lists { retry_on: None, abort_on: None }, read_by: Readable };
}

impl<R> Matchers<R> {
    fn matched(&self, classifier: Classifier<'_>, view: ErrorView<'_>) -> MatchOutcome {
        let Lists { retry_on, abort_on } = &self.lists;
        let class = classifier.class();
        let any = |list: &[Matcher]| list.iter().any(|matcher| matcher.matches(class, view));
        MatchOutcome {
            list: match retry_on {
                None => List::None,
                Some(list) if any(list) => List::Matches,
                Some(_) => List::Misses,
            },
            aborted: abort_on.as_deref().is_some_and(any),
            barred: false,
            picked: false,
            hint: classifier.retry_after(),
            class,
        }
    }
}

impl<E, Kind, R: ReadsError<E, Kind>> Decider<E, Kind> for Matchers<R> {
    fn decide(&self, failed: &FailedAttempt<'_, E>) -> MatchOutcome {
        match failed {
            FailedAttempt::Error(error) => {
                let (classifier, view) = self.read_by.read(error);
                self.matched(classifier, view)
            }
            FailedAttempt::Interrupted(interrupted) => {
                let view = ErrorView::Typed(*interrupted);
                self.matched(Classifier::View(view), view)
            }
            FailedAttempt::Value(value) => match value.classified() {
                Some(value) => self.matched(Classifier::Own(value), ErrorView::Text(&value)),
                None => MatchOutcome::PICKED,
            },
        }
    }

    fn on_retry(&self, _: &RetryEvent<'_, E>) {}

    fn shown<'e>(&self, error: &'e E) -> &'e dyn Display {
        self.read_by.shown(error)
    }
}

/// How an error of type `E` is read. `Kind` is inferred.
pub trait ReadsError<E, Kind> {
    /// Returns what determines its class and hint, and what provides its texts.
    fn read<'e>(&self, error: &'e E) -> (Classifier<'e>, ErrorView<'e>);

    /// Returns the displayable form of the error.
    fn shown<'e>(&self, error: &'e E) -> &'e dyn Display;
}

/// Errors are judged by their types and texts: any [`Error`](core::error::Error) that is `'static`,
/// `anyhow::Error`, boxed errors, texts. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Readable;

impl<E: Fault<Kind>, Kind> ReadsError<E, Kind> for Readable {
    fn read<'e>(&self, error: &'e E) -> (Classifier<'e>, ErrorView<'e>) {
        let view = error.view();
        (Classifier::View(view), view)
    }

    fn shown<'e>(&self, error: &'e E) -> &'e dyn Display {
        error
    }
}

/// Errors classify themselves, through [`Classify`]:
/// [`Retrier::classified`](crate::Retrier::classified).
#[derive(Clone, Copy, Debug, Default)]
pub struct Classified;

impl<E: Classify> ReadsError<E, ()> for Classified {
    fn read<'e>(&self, error: &'e E) -> (Classifier<'e>, ErrorView<'e>) {
        (Classifier::Own(error), ErrorView::Text(error))
    }

    fn shown<'e>(&self, error: &'e E) -> &'e dyn Display {
        error
    }
}

/// Errors have no class and no hint: [`Retrier::opaque`](crate::Retrier::opaque).
#[derive(Clone, Copy, Debug, Default)]
pub struct Opaque;

impl<E: Display> ReadsError<E, ()> for Opaque {
    fn read<'e>(&self, error: &'e E) -> (Classifier<'e>, ErrorView<'e>) {
        (Classifier::View(ErrorView::Nothing), ErrorView::Text(error))
    }

    fn shown<'e>(&self, error: &'e E) -> &'e dyn Display {
        error
    }
}

/// [`Matchers`], with or without closures, whose lists can be changed.
pub trait MatcherStack {
    /// The same stack, with errors read by `R`.
    type ReadBy<R>;

    /// Changes how errors are read.
    fn read_by<R>(self, read_by: R) -> Self::ReadBy<R>;

    /// Returns the lists.
    fn lists(&mut self) -> &mut Lists;
}

impl<Old> MatcherStack for Matchers<Old> {
    type ReadBy<R> = Matchers<R>;

    fn read_by<R>(self, read_by: R) -> Matchers<R> {
        Matchers { lists: self.lists, read_by }
    }

    fn lists(&mut self) -> &mut Lists {
        &mut self.lists
    }
}

impl<M: MatcherStack, X> MatcherStack for With<M, X> {
    type ReadBy<R> = With<M::ReadBy<R>, X>;

    fn read_by<R>(self, read_by: R) -> Self::ReadBy<R> {
        With { matchers: self.matchers.read_by(read_by), hook: self.hook }
    }

    fn lists(&mut self) -> &mut Lists {
        self.matchers.lists()
    }
}

/// Matchers with a closure that also takes part: a [`When`](super::When), a
/// [`RetryAfter`](super::RetryAfter) or an [`OnRetry`](super::OnRetry).
#[derive(Clone)]
pub struct With<M, X> {
    pub(super) matchers: M,
    pub(super) hook: X,
}

impl<M: fmt::Debug, X: fmt::Debug> fmt::Debug for With<M, X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} with {:?}", self.matchers, self.hook)
    }
}

impl<E, Kind, M: Decider<E, Kind>, X: Hook<E>> Decider<E, Kind> for With<M, X> {
    fn decide(&self, failed: &FailedAttempt<'_, E>) -> MatchOutcome {
        let mut outcome = self.matchers.decide(failed);
        self.hook.refine(failed, &mut outcome);
        outcome
    }

    fn on_retry(&self, event: &RetryEvent<'_, E>) {
        self.matchers.on_retry(event);
        self.hook.on_retry(event);
    }

    fn shown<'e>(&self, error: &'e E) -> &'e dyn Display {
        self.matchers.shown(error)
    }
}

/// Any decider about errors of type `E`, as a type that can be named in a field:
/// [`Retrier::boxed`](crate::Retrier::boxed).
pub struct Boxed<E>(Arc<dyn Decider<E, ()> + Send + Sync>);

impl<E> Boxed<E> {
    pub(super) fn new<Kind: 'static>(
        matchers: impl Decider<E, Kind> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(OfKind(matchers, PhantomData)))
    }
}

impl<E> Clone for Boxed<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E> fmt::Debug for Boxed<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Boxed")
    }
}

impl<E> Decider<E, ()> for Boxed<E> {
    fn decide(&self, failed: &FailedAttempt<'_, E>) -> MatchOutcome {
        self.0.decide(failed)
    }

    fn on_retry(&self, event: &RetryEvent<'_, E>) {
        self.0.on_retry(event);
    }

    fn shown<'e>(&self, error: &'e E) -> &'e dyn Display {
        self.0.shown(error)
    }
}

/// Hides the kind of a decider.
struct OfKind<M, Kind>(M, PhantomData<fn() -> Kind>);

impl<E, Kind, M: Decider<E, Kind>> Decider<E, ()> for OfKind<M, Kind> {
    fn decide(&self, failed: &FailedAttempt<'_, E>) -> MatchOutcome {
        self.0.decide(failed)
    }

    fn on_retry(&self, event: &RetryEvent<'_, E>) {
        self.0.on_retry(event);
    }

    fn shown<'e>(&self, error: &'e E) -> &'e dyn Display {
        self.0.shown(error)
    }
}
