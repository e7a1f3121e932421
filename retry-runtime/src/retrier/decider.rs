//! What a [`Retrier`](crate::Retrier) decides by: its matchers, as types that stack.

use core::fmt::{self, Display};
use core::time::Duration;

use crate::classify::matchers::Matcher;
use crate::classify::probe::{Classifier, ErrorView, Fault};
use crate::classify::{Class, Classify};
use crate::event::retry_event::RetryEvent;
use crate::outcome::error::Interrupted;

/// What a retrier's matchers say of a failure.
#[derive(Clone, Copy, Debug)]
pub struct MatchOutcome {
    pub(crate) retry: bool,
    pub(crate) hint: Option<Duration>,
    pub(crate) timeout: bool,
}

/// Matchers that can decide about errors of type `E`. `Kind` is inferred.
pub trait Decider<E, Kind> {
    /// What they say of this error.
    fn decide(&self, error: &E) -> MatchOutcome;

    /// What they say of an attempt that the policy itself cut off.
    fn decide_interrupted(&self, interrupted: &Interrupted) -> MatchOutcome;

    /// What they say of a value that its caller calls a failure. Without a list
    /// the caller's word decides.
    fn decide_value(&self, classifier: Classifier<'_>, _: ErrorView<'_>) -> MatchOutcome {
        let timeout = classifier.class().contains(Class::TIMEOUT);
        MatchOutcome { retry: true, hint: classifier.retry_after(), timeout }
    }

    /// Hears of a failure that will be retried.
    fn on_retry(&self, _: &RetryEvent<'_, E>) {}
}

/// Every failure is retried: a retrier without matchers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl<E> Decider<E, ()> for Everything {
    fn decide(&self, _: &E) -> MatchOutcome {
        MatchOutcome { retry: true, hint: None, timeout: false }
    }

    fn decide_interrupted(&self, _: &Interrupted) -> MatchOutcome {
        MatchOutcome { retry: true, hint: None, timeout: true }
    }
}

/// The failures that a list names are retried, and those that another names are not.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    pub(super) retry_on: Option<Vec<Matcher>>,
    pub(super) abort_on: Vec<Matcher>,
}

impl Listed {
    fn matched(&self, classifier: Classifier<'_>, view: ErrorView<'_>) -> MatchOutcome {
        let class = classifier.class();
        let any =
            |matchers: &[Matcher]| matchers.iter().any(|matcher| matcher.matches(class, view));
        let wanted = self.retry_on.as_deref().is_none_or(any);
        MatchOutcome {
            retry: wanted && !any(&self.abort_on),
            hint: classifier.retry_after(),
            timeout: class.contains(Class::TIMEOUT),
        }
    }

    fn listed_interrupted(&self, interrupted: &Interrupted) -> MatchOutcome {
        let view = ErrorView::Typed(interrupted);
        self.matched(Classifier::View(view), view)
    }
}

impl<E: Fault<Kind>, Kind> Decider<E, Kind> for Listed {
    fn decide(&self, error: &E) -> MatchOutcome {
        let view = error.view();
        self.matched(Classifier::View(view), view)
    }

    fn decide_interrupted(&self, interrupted: &Interrupted) -> MatchOutcome {
        self.listed_interrupted(interrupted)
    }

    fn decide_value(&self, classifier: Classifier<'_>, view: ErrorView<'_>) -> MatchOutcome {
        self.matched(classifier, view)
    }
}

/// The same for errors that classify themselves: [`Retrier::classified`](crate::Retrier::classified).
#[derive(Clone, Debug, Default)]
pub struct Classified(pub(super) Listed);

impl<E: Classify + Display> Decider<E, ()> for Classified {
    fn decide(&self, error: &E) -> MatchOutcome {
        self.0.matched(Classifier::Own(error), ErrorView::Text(error))
    }

    fn decide_interrupted(&self, interrupted: &Interrupted) -> MatchOutcome {
        self.0.listed_interrupted(interrupted)
    }

    fn decide_value(&self, classifier: Classifier<'_>, view: ErrorView<'_>) -> MatchOutcome {
        self.0.matched(classifier, view)
    }
}

/// The failures that a predicate picks are retried: [`Retrier::when`](crate::Retrier::when).
#[derive(Clone)]
pub struct When<F>(pub(super) F);

impl<F> fmt::Debug for When<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("When")
    }
}

impl<E, F: Fn(&E) -> bool> Decider<E, ()> for When<F> {
    fn decide(&self, error: &E) -> MatchOutcome {
        MatchOutcome { retry: (self.0)(error), hint: None, timeout: false }
    }

    /// Not retried, as in the attribute: the predicate did not pick it.
    fn decide_interrupted(&self, _: &Interrupted) -> MatchOutcome {
        MatchOutcome { retry: false, hint: None, timeout: true }
    }
}

/// Matchers, and a closure that knows the wait a server asked for:
/// [`Retrier::retry_after`](crate::Retrier::retry_after).
#[derive(Clone)]
pub struct RetryAfter<M, F> {
    pub(super) matchers: M,
    pub(super) hint: F,
}

impl<M: fmt::Debug, F> fmt::Debug for RetryAfter<M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RetryAfter").field(&self.matchers).finish()
    }
}

impl<E, Kind, M, F> Decider<E, Kind> for RetryAfter<M, F>
where
    M: Decider<E, Kind>,
    F: Fn(&E) -> Option<Duration>,
{
    fn decide(&self, error: &E) -> MatchOutcome {
        let matched = self.matchers.decide(error);
        MatchOutcome { hint: (self.hint)(error).or(matched.hint), ..matched }
    }

    fn decide_interrupted(&self, interrupted: &Interrupted) -> MatchOutcome {
        self.matchers.decide_interrupted(interrupted)
    }

    fn decide_value(&self, classifier: Classifier<'_>, view: ErrorView<'_>) -> MatchOutcome {
        self.matchers.decide_value(classifier, view)
    }

    fn on_retry(&self, event: &RetryEvent<'_, E>) {
        self.matchers.on_retry(event);
    }
}

/// Matchers, and a closure that hears of each retry: [`Retrier::on_retry`](crate::Retrier::on_retry).
#[derive(Clone)]
pub struct OnRetry<M, F> {
    pub(super) matchers: M,
    pub(super) listener: F,
}

impl<M: fmt::Debug, F> fmt::Debug for OnRetry<M, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnRetry").field(&self.matchers).finish()
    }
}

impl<E, Kind, M, F> Decider<E, Kind> for OnRetry<M, F>
where
    M: Decider<E, Kind>,
    F: Fn(&RetryEvent<'_, E>),
{
    fn decide(&self, error: &E) -> MatchOutcome {
        self.matchers.decide(error)
    }

    fn decide_interrupted(&self, interrupted: &Interrupted) -> MatchOutcome {
        self.matchers.decide_interrupted(interrupted)
    }

    fn decide_value(&self, classifier: Classifier<'_>, view: ErrorView<'_>) -> MatchOutcome {
        self.matchers.decide_value(classifier, view)
    }

    fn on_retry(&self, event: &RetryEvent<'_, E>) {
        self.matchers.on_retry(event);
        (self.listener)(event);
    }
}
