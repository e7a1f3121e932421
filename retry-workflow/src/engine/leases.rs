//! [`Leases`]: the leases that a worker has, which it gives back when it is dropped.

use std::collections::HashMap;

use crate::item::clock::Timestamp;
use crate::item::record::{LeaseKey, Settled, Settlement};
use crate::store::Store;

/// The leases that a worker has.
pub(super) struct Leases<S: Store> {
    store: S,
    /// Item to token.
    leases: HashMap<i64, u64>,
}

impl<S: Store> Leases<S> {
    pub(super) fn new(store: S) -> Self {
        Self { store, leases: HashMap::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.leases.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }

    pub(super) fn add(&mut self, key: LeaseKey) {
        self.leases.insert(key.item, key.token);
    }

    /// Takes over a later lease of an item that this worker has; `false` if it has it not.
    pub(super) fn renew(&mut self, key: LeaseKey) -> bool {
        match self.leases.get_mut(&key.item) {
            Some(token) => {
                *token = key.token;
                true
            }
            None => false,
        }
    }

    /// Hands out the lease that this worker has of an item now.
    pub(super) fn take(&mut self, key: LeaseKey) -> LeaseKey {
        let token = self.leases.remove(&key.item).unwrap_or(key.token);
        LeaseKey { token, ..key }
    }

    /// They end by themselves.
    pub(super) fn forget(&mut self) {
        self.leases.clear();
    }

    pub(super) fn keys(&self) -> Vec<LeaseKey> {
        self.leases.iter().map(|(&item, &token)| LeaseKey { item, token }).collect()
    }
}

impl<S: Store> Drop for Leases<S> {
    /// The job's future was dropped: its items need not wait for the ends of their leases.
    fn drop(&mut self) {
        if self.leases.is_empty() {
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
            // Nobody is left to hear of a failure; the leases end by themselves.
            drop(store.settle(released.collect(), Timestamp::now()).await);
        });
    }
}
