//! Sending a request more than once.

use core::mem;

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

/// The request of a call, for as long as it may be sent.
pub(super) enum Supply<Q> {
    /// May be sent several times.
    Many(Q),
    /// Is sent once more.
    Last(Q),
    Spent,
}

impl<Q> Supply<Q> {
    /// The request may be sent only once more.
    pub(super) fn end_with_next(&mut self) {
        *self = match mem::replace(self, Self::Spent) {
            Self::Many(request) => Self::Last(request),
            other => other,
        };
    }

    /// Returns the request for an attempt. If it may be sent again and can be cloned, this is a
    /// clone, and the original is kept.
    #[inline]
    pub(super) fn next(&mut self, requests: &impl Requests<Q>) -> Option<Q> {
        let copy = self.copy(requests);
        match mem::replace(self, Self::Spent) {
            Self::Many(request) if copy.is_some() => {
                *self = Self::Many(request);
                copy
            }
            Self::Many(request) | Self::Last(request) => Some(request),
            Self::Spent => None,
        }
    }

    /// Returns a copy of the request for an attempt beside one that runs, if it may be sent again.
    #[inline]
    pub(super) fn copy(&self, requests: &impl Requests<Q>) -> Option<Q> {
        match self {
            Self::Many(request) => requests.clone_request(request),
            Self::Last(_) | Self::Spent => None,
        }
    }
}
