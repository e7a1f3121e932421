//! Responses that count as failures because a closure classifies them.

use core::fmt;

use crate::base::sealed::{Sealed, shared_closure};
use crate::classify::Classify;
use crate::retrier::{FailedValue, Values};

shared_closure! {
    /// A closure that returns what is wrong with a response:
    /// [`RetryLayer::classify_response`](super::RetryLayer::classify_response).
    ClassifyResponse
}

impl<T, X, F> Values<T> for ClassifyResponse<F>
where
    F: Fn(&T) -> Option<X>,
    X: Classify + Send,
{
    type Failure = ClassifiedResponse<X>;

    fn failure(&self, response: &T) -> Option<ClassifiedResponse<X>> {
        (self.0)(response).map(ClassifiedResponse)
    }
}

/// The fault that [`ClassifyResponse`] found in a response.
#[derive(Debug)]
pub struct ClassifiedResponse<X>(X);

impl<X: fmt::Display> fmt::Display for ClassifiedResponse<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<X> Sealed for ClassifiedResponse<X> {}

impl<X: Classify + Send> FailedValue for ClassifiedResponse<X> {
    fn classified(&self) -> Option<&dyn Classify> {
        Some(&self.0)
    }
}
