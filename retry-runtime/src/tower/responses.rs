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
pub struct ClassifyResponse<F>(pub(super) F);

impl<F> fmt::Debug for ClassifyResponse<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClassifyResponse")
    }
}

impl<T, X, F> Responses<T> for ClassifyResponse<F>
where
    F: Fn(&T) -> Option<X>,
    X: Classify,
{
    type Failure = ClassifiedResponse<X>;

    fn failure(&self, response: &T) -> Option<ClassifiedResponse<X>> {
        (self.0)(response).map(ClassifiedResponse)
    }
}

/// What [`ClassifyResponse`] found wrong with a response.
#[derive(Debug)]
pub struct ClassifiedResponse<X>(X);

impl<X: fmt::Display> fmt::Display for ClassifiedResponse<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<X: Classify> ResponseFailure for ClassifiedResponse<X> {
    fn matched<E, Kind>(&self, matchers: &impl Decider<E, Kind>) -> MatchOutcome {
        matchers.decide_value(Classifier::Own(&self.0), ErrorView::Text(&self.0))
    }
}

/// A closure picks responses to be tried again: [`RetryLayer::retry_response`](super::RetryLayer::retry_response).
pub struct RetryResponse<F>(pub(super) F);

impl<F> fmt::Debug for RetryResponse<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RetryResponse")
    }
}

impl<T, F: Fn(&T) -> bool> Responses<T> for RetryResponse<F> {
    type Failure = PickedResponse;

    fn failure(&self, response: &T) -> Option<PickedResponse> {
        (self.0)(response).then_some(PickedResponse)
    }
}

/// A response that [`RetryResponse`] picked.
#[derive(Debug)]
pub struct PickedResponse;

impl fmt::Display for PickedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the response is one that is retried")
    }
}

impl ResponseFailure for PickedResponse {
    fn matched<E, Kind>(&self, _: &impl Decider<E, Kind>) -> MatchOutcome {
        MatchOutcome { retry: true, hint: None, timeout: false }
    }
}
