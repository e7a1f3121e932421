//! [`Ops`]: what the store is doing for a job. At most one of each kind is under way, so that
//! the batches grow with the load.

use std::future::Future;
use std::pin::Pin;

use super::attempt::Completion;
use crate::item::clock::Timestamp;
use crate::item::record::{Counts, Lease};
use crate::store::StoreError;

/// Something that the store is asked to do.
pub(super) type Op<T> = Option<Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>>;

/// What the store is doing for this job.
#[derive(Default)]
pub(super) struct Ops {
    pub(super) claim: Op<(Vec<Lease>, usize)>,
    pub(super) settle: Op<(Vec<Completion>, Vec<bool>)>,
    pub(super) enqueue: Op<u64>,
    pub(super) extend: Op<()>,
    pub(super) next_due: Op<(u64, Option<Timestamp>)>,
    pub(super) counts: Op<(u64, Counts)>,
    pub(super) breaker: Op<()>,
}

impl Ops {
    /// Whether nothing is under way that changes items.
    pub(super) fn are_quiet(&self) -> bool {
        self.claim.is_none() && self.settle.is_none() && self.enqueue.is_none()
    }
}

/// A future of the store, to be kept.
pub(super) fn boxed<T>(
    op: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>> {
    Box::pin(op)
}
