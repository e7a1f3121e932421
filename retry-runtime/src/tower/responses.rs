//! Which responses are failures, and what the matchers are told of them.

use core::convert::Infallible;
use core::fmt;

use crate::classify::Classify;
use crate::classify::probe::{Classifier, ErrorView};
use crate::retrier::decider::{Decider, MatchOutcome};

/// Which responses are failures.
pub trait Responses<T> {
    /// What is wrong with one.
    type Failure: ResponseFailure;

    /// What is wrong with this one.
    fn failure(&self, response: &T) -> Option<Self::Failure>;
}

/// What is wrong with a response: a text for events, and something for matchers.
pub trait ResponseFailure: fmt::Display {
    /// What the matchers say of it.
    fn matched<E, Kind>(&self, matchers: &impl Decider<E, Kind>) -> MatchOutcome;
}

/// No response is a failure: the default.
#[derive(Clone, Copy, Debug)]
pub struct AllSucceed;

impl<T> Responses<T> for AllSucceed {
    type Failure = Infallible;

    fn failure(&self, _: &T) -> Option<Infallible> {
        None
    }
}

impl ResponseFailure for Infallible {
    fn matched<E, Kind>(&self, _: &impl Decider<E, Kind>) -> MatchOutcome {
        match *self {}
    }
}

/// A closure tells what is wrong with a response:
/// [`RetryLayer::classify_response`](super::RetryLayer::classify_response).
pub struct Classified<F>(pub(super) F);

impl<F> fmt::Debug for Classified<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Classified")
    }
}

impl<T, X, F> Responses<T> for Classified<F>
where
    F: Fn(&T) -> Option<X>,
    X: Classify + fmt::Display,
{
    type Failure = Said<X>;

    fn failure(&self, response: &T) -> Option<Said<X>> {
        (self.0)(response).map(Said)
    }
}

/// What such a closure has said.
#[derive(Debug)]
pub struct Said<X>(X);

impl<X: fmt::Display> fmt::Display for Said<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<X: Classify + fmt::Display> ResponseFailure for Said<X> {
    fn matched<E, Kind>(&self, matchers: &impl Decider<E, Kind>) -> MatchOutcome {
        matchers.decide_value(Classifier::Own(&self.0), ErrorView::Text(&self.0))
    }
}

/// A closure picks responses to be tried again: [`RetryLayer::retry_response`](super::RetryLayer::retry_response).
pub struct Picked<F>(pub(super) F);

impl<F> fmt::Debug for Picked<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Picked")
    }
}

impl<T, F: Fn(&T) -> bool> Responses<T> for Picked<F> {
    type Failure = Matched;

    fn failure(&self, response: &T) -> Option<Matched> {
        (self.0)(response).then_some(Matched)
    }
}

/// A response that was picked.
#[derive(Debug)]
pub struct Matched;

impl fmt::Display for Matched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the response is one that is retried")
    }
}

impl ResponseFailure for Matched {
    fn matched<E, Kind>(&self, _: &impl Decider<E, Kind>) -> MatchOutcome {
        MatchOutcome { retry: true, hint: None, timeout: false }
    }
}
