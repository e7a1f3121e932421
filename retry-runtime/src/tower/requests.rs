//! Sending a request more than once.

use crate::base::sealed::{Sealed, shared_closure};

/// A way to copy requests so that they can be sent again: `Clone`, or a closure.
///
/// Sealed: [`ByClone`] and [`CloneWith`] implement it.
#[diagnostic::on_unimplemented(
    message = "a layer that retries must send a request again, but `{Self}` does not clone a `{Q}`",
    label = "this request is not `Clone`",
    note = "say how to clone it: `RetryLayer::clone_request(|request| …)`"
)]
pub trait Requests<Q>: Sealed {
    /// Returns a copy of the request, or `None` if it must not be sent again.
    fn clone_request(&self, request: &Q) -> Option<Q>;
}

/// With the request's `Clone`: the default.
#[derive(Clone, Copy, Debug)]
pub struct ByClone;

impl Sealed for ByClone {}

impl<Q: Clone> Requests<Q> for ByClone {
    fn clone_request(&self, request: &Q) -> Option<Q> {
        Some(request.clone())
    }
}

shared_closure! {
    /// With a closure: [`RetryLayer::clone_request`](super::RetryLayer::clone_request).
    CloneWith
}

impl<Q, F: Fn(&Q) -> Option<Q>> Requests<Q> for CloneWith<F> {
    fn clone_request(&self, request: &Q) -> Option<Q> {
        (self.0)(request)
    }
}

/// The request of a call, for as long as it may be sent again.
pub(super) struct Supply<Q> {
    left: Option<Q>,
}

impl<Q> Supply<Q> {
    /// Returns the request for the first attempt, and what is left of it.
    #[inline]
    pub(super) fn new(request: Q, more: bool, requests: &impl Requests<Q>) -> (Q, Self) {
        let clone = if more { requests.clone_request(&request) } else { None };
        match clone {
            Some(clone) => (clone, Self { left: Some(request) }),
            None => (request, Self { left: None }),
        }
    }

    /// The request for an attempt. If there may be another attempt and the request can be cloned,
    /// this is a clone, and the original is kept.
    pub(super) fn take(&mut self, more: bool, requests: &impl Requests<Q>) -> Option<Q> {
        let clone = if more { requests.clone_request(self.left.as_ref()?) } else { None };
        clone.or_else(|| self.left.take())
    }

    /// A copy of the request for an attempt beside one that runs, if it can be sent again.
    pub(super) fn copy(&self, requests: &impl Requests<Q>) -> Option<Q> {
        requests.clone_request(self.left.as_ref()?)
    }

    /// Returns whether there is nothing left to send again.
    pub(super) fn is_spent(&self) -> bool {
        self.left.is_none()
    }
}
