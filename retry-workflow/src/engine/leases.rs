//! [`Leases`]: the leases that a worker has, in a queue until a handler works on them. It gives
//! them back when it is dropped.

use std::collections::{HashMap, VecDeque};

use super::ledger::Load;
use crate::item::clock::Timestamp;
use crate::item::record::{Lease, LeaseKey, Settled, Settlement};
use crate::store::{MOST_CLAIMED_BYTES, Store};

/// The leases that a worker has.
pub(super) struct Leases<S: Store> {
    store: S,
    /// Item to token.
    tokens: HashMap<i64, u64>,
    /// Items that no handler works on yet, and how many bytes their payloads are.
    ready: VecDeque<Lease>,
    ready_bytes: usize,
}

impl<S: Store> Leases<S> {
    pub(super) fn new(store: S) -> Self {
        Self { store, tokens: HashMap::new(), ready: VecDeque::new(), ready_bytes: 0 }
    }

    pub(super) fn load(&self, running: usize) -> Load {
        Load { held: self.tokens.len(), ready: self.ready.len(), running }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Whether a handler works on each of them.
    pub(super) fn are_handed_out(&self) -> bool {
        self.ready.is_empty()
    }

    /// Whether the items that no handler works on yet are as many bytes as a claim may be.
    pub(super) fn are_large(&self) -> bool {
        self.ready_bytes >= MOST_CLAIMED_BYTES
    }

    pub(super) fn add(&mut self, lease: Lease) {
        // Its own, which had expired: the handler that works on it, or is about to, continues.
        if self.tokens.insert(lease.key.item, lease.key.token).is_some() {
            return;
        }
        self.ready_bytes = self.ready_bytes.saturating_add(lease.payload.len());
        self.ready.push_back(lease);
    }

    /// Hands out the next item that no handler works on yet.
    pub(super) fn next_ready(&mut self) -> Option<Lease> {
        let lease = self.ready.pop_front()?;
        self.ready_bytes = self.ready_bytes.saturating_sub(lease.payload.len());
        Some(lease)
    }

    /// Hands out the lease that this worker has of an item now.
    pub(super) fn take(&mut self, key: LeaseKey) -> LeaseKey {
        let token = self.tokens.remove(&key.item).unwrap_or(key.token);
        LeaseKey { token, ..key }
    }

    /// They end by themselves.
    pub(super) fn forget(&mut self) {
        self.tokens.clear();
    }

    pub(super) fn keys(&self) -> Vec<LeaseKey> {
        self.tokens.iter().map(|(&item, &token)| LeaseKey { item, token }).collect()
    }
}

impl<S: Store> Drop for Leases<S> {
    /// The job's future was dropped: its items need not wait for the ends of their leases.
    fn drop(&mut self) {
        if self.tokens.is_empty() {
            return;
        }
        // Without a runtime they do.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (store, keys) = (self.store.clone(), self.keys());
        runtime.spawn(async move {
            let released = keys.into_iter().map(|lease| Settlement {
                lease,
                end: Settled::Released,
                history: Vec::new(),
            });
            // A failure cannot be reported any more; the leases expire by themselves.
            drop(store.settle(released.collect(), Timestamp::now()).await);
        });
    }
}
