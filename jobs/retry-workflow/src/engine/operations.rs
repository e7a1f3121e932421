//! [`Operations`]: what the store is doing for a job, and [`EngineEvent`], the results. At most one
//! operation of each kind is under way, so that batches grow with the load.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

use super::attempt::Completion;
use super::heartbeat::Beat;
use super::leases::release;
use super::limits::exclusive::{Exclusive, SharedAccess};
use super::limits::keys::Reserved;
use crate::engine::source::NextBatch;
use crate::engine::source::input::InputCounts;
use crate::item::clock::Timestamp;
use crate::item::lease::{Lease, LeaseKey};
use crate::item::record::NewItem;
use crate::item::summary::Overview;
use crate::job::error::WorkflowError;
use crate::job::record::StopReason;
use crate::store::{Store, StoreError};

/// The result of a poll of the job as a whole.
#[derive(Clone, Copy)]
pub(super) struct JobPoll {
    /// The number of changes there had been before.
    pub(super) changes: u64,
    pub(super) overview: Overview,
    /// Set if the items that wait to be leased for the first time were counted.
    pub(super) with_waiting: bool,
    /// Set if it is one of those that come every second.
    pub(super) is_regular: bool,
}

/// The events that the engine's loop waits for.
pub(super) enum EngineEvent {
    /// The job must stop.
    Stop(StopReason),
    /// Items may begin.
    Start,
    /// The source has more items, or has ended.
    Input(Option<Vec<NewItem>>),
    /// The source has failed.
    InputFailed(WorkflowError),
    /// Leases and until when they last, how many were wanted, and how many the store has as
    /// started.
    Claimed { leases: Vec<Lease>, until: Timestamp, wanted: usize, starts: usize },
    /// A suspect, if one is due, and until when its lease lasts.
    ClaimedSuspect(Option<Lease>, Timestamp),
    /// Leases that were to be renewed until then, and whether each was still held.
    Renewed { keys: Vec<LeaseKey>, good: Vec<bool>, until: Timestamp },
    /// The items that can start, because their keys were reserved.
    Reserved(Reserved),
    /// Handlers may run.
    Entered(SharedAccess),
    /// This job has the process to itself.
    Exclusive(Exclusive),
    /// The settled items, and whether each lease was still held.
    Settled(Vec<Completion>, Vec<bool>),
    /// The store has taken items.
    Enqueued(InputCounts),
    /// The state of the job as a whole was read.
    Polled(JobPoll),
    /// Something about the job may have changed; with the number to listen from next.
    Changed(u64),
    /// The heartbeat was checked, and renewed if due.
    Beaten(Beat),
    /// Anything else: the loop checks what can start.
    Wake,
}

impl EngineEvent {
    /// The event of a source's result.
    ///
    /// # Errors
    /// The store failed.
    pub(super) fn of_input(given: NextBatch) -> Result<Self, StoreError> {
        match given {
            Ok(items) => Ok(Self::Input(items)),
            Err(WorkflowError::Store(error)) => Err(error),
            Err(error) => Ok(Self::InputFailed(error)),
        }
    }

    /// The items that were claimed.
    fn claimed(self) -> Vec<LeaseKey> {
        let leases = match self {
            Self::Claimed { leases, .. } => leases,
            Self::ClaimedSuspect(lease, _) => lease.into_iter().collect(),
            _ => Vec::new(),
        };
        leases.into_iter().map(|lease| lease.key).collect()
    }
}

/// The operations of the store. If several have ended, the first in this list is handled first.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    /// First, so that it listens before anything is looked up.
    Listen,
    Settle,
    Claim,
    Enqueue,
    Poll,
    Extend,
    ShareBreaker,
    Reserve,
    Enter,
    Heartbeat,
}

type UnderWay = Pin<Box<dyn Future<Output = Result<EngineEvent, StoreError>> + Send>>;

/// The running operations of the store for a job.
pub(super) struct Operations {
    store: Arc<dyn Store>,
    job: Arc<str>,
    under_way: [Option<UnderWay>; Operation::Heartbeat as usize + 1],
}

impl Operations {
    pub(super) fn new(store: &Arc<dyn Store>, job: &Arc<str>) -> Self {
        let (store, job) = (Arc::clone(store), Arc::clone(job));
        Self { store, job, under_way: Default::default() }
    }

    /// Starts an operation on the job, and returns `false` if one of this kind is under way.
    pub(super) fn start<F>(
        &mut self,
        operation: Operation,
        run: impl FnOnce(Arc<dyn Store>, Arc<str>) -> F,
    ) -> bool
    where
        F: Future<Output = Result<EngineEvent, StoreError>> + Send + 'static,
    {
        let is_free = !self.is_under_way(operation);
        if is_free {
            let future = run(Arc::clone(&self.store), Arc::clone(&self.job));
            self.under_way[operation as usize] = Some(Box::pin(future));
        }
        is_free
    }

    pub(super) fn is_under_way(&self, operation: Operation) -> bool {
        self.under_way[operation as usize].is_some()
    }

    /// Waits for the operation of this kind, if one is under way.
    pub(super) async fn finish(
        &mut self,
        operation: Operation,
    ) -> Result<Option<EngineEvent>, StoreError> {
        match self.under_way[operation as usize].take() {
            Some(future) => future.await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns whether no operation that changes items is under way.
    pub(super) fn are_quiet(&self) -> bool {
        let changes = [Operation::Settle, Operation::Claim, Operation::Enqueue];
        !changes.into_iter().any(|operation| self.is_under_way(operation))
    }

    /// The result of the first operation that has ended.
    pub(super) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<EngineEvent, StoreError>> {
        for under_way in &mut self.under_way {
            if let Some(future) = under_way
                && let Poll::Ready(event) = future.as_mut().poll(cx)
            {
                *under_way = None;
                return Poll::Ready(event);
            }
        }
        Poll::Pending
    }
}

impl Drop for Operations {
    /// Finishes the store's operations for a job whose future was dropped: outcomes are kept, and
    /// claimed items need not wait for their leases to expire.
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else { return };
        for operation in [Operation::Settle, Operation::Claim] {
            let Some(under_way) = self.under_way[operation as usize].take() else { continue };
            let store = Arc::clone(&self.store);
            runtime.spawn(async move {
                let claimed = under_way.await.map_or_else(|_| Vec::new(), EngineEvent::claimed);
                if !claimed.is_empty() {
                    release(store, claimed).await;
                }
            });
        }
    }
}
