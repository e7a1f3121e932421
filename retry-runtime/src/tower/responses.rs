//! Responses that count as failures because a closure classifies them.

use core::fmt;
use std::sync::Arc;

use crate::base::sealed::Sealed;
use crate::classify::Classify;
use crate::retrier::{FailedValue, Values};

/// A closure that returns what is wrong with a response:
/// [`RetryLayer::classify_response`](super::RetryLayer::classify_response).
pub struct ClassifyResponse<F>(pub(super) Arc<F>);

impl<F> Clone for ClassifyResponse<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F> fmt::Debug for ClassifyResponse<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClassifyResponse")
    }
}

impl<F> Sealed for ClassifyResponse<F> {}

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
