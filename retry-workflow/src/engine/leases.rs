//! [`Leases`]: the leases that a worker holds, queued until a handler works on them. They are
//! released on drop.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::ledger::Load;
use crate::item::clock::Timestamp;
use crate::item::record::{Lease, LeaseKey, Settled, Settlement, Start};
use crate::store::{MAX_CLAIM_BYTES, Store};

/// The leases that a worker holds.
pub(super) struct Leases {
    store: Arc<dyn Store>,
    /// The lease of each item, by its item.
    held: HashMap<i64, Held>,
    /// Items that no handler works on yet, and the size of their payloads in bytes.
    ready: VecDeque<Ready>,
    ready_bytes: usize,
    /// How many of these the store has as started.
    ready_started: usize,
    /// Items that handlers have started, and when, as long as the store does not know.
    started: Vec<(i64, Timestamp)>,
}

/// What a worker holds of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) token: u64,
    /// The number of the attempt that this lease is for.
    pub(super) attempt: u32,
}

/// An item that no handler works on yet.
struct Ready {
    lease: Lease,
    /// Whether the store has it as started, because it was claimed for a free slot.
    is_started: bool,
}

impl Leases {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            held: HashMap::new(),
            ready: VecDeque::new(),
            ready_bytes: 0,
            ready_started: 0,
            started: Vec::new(),
        }
    }

    pub(super) fn load(&self, running: usize) -> Load {
        Load { held: self.held.len(), ready: self.ready.len(), running }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether a handler works on each of them.
    pub(super) fn are_handed_out(&self) -> bool {
        self.ready.is_empty()
    }

    /// How many free slots are left after the items that no handler works on yet.
    pub(super) fn free_beyond_ready(&self, free: usize) -> usize {
        free.saturating_sub(self.ready.len())
    }

    /// Whether the items that no handler works on yet are as large as a claim may be.
    pub(super) fn are_large(&self) -> bool {
        self.ready_bytes >= MAX_CLAIM_BYTES
    }

    /// Adds a lease; `is_started` says whether the store has the item as started.
    pub(super) fn add(&mut self, lease: Lease, is_started: bool) {
        let LeaseKey { item, token } = lease.key;
        // This worker's own lease had expired: the handler that has it, or will have it, continues,
        // in the attempt of the new one.
        if self.held.insert(item, Held { token, attempt: lease.attempt }).is_some() {
            match self.ready.iter_mut().find(|ready| ready.lease.key.item == item) {
                Some(ready) => {
                    self.ready_started += usize::from(is_started);
                    self.ready_started -= usize::from(ready.is_started);
                    ready.is_started = is_started;
                }
                None if is_started => {}
                None => self.started.push((item, self.store.now())),
            }
            return;
        }
        self.ready_bytes = self.ready_bytes.saturating_add(lease.payload.len());
        self.ready_started += usize::from(is_started);
        self.ready.push_back(Ready { lease, is_started });
    }

    /// Hands out the next item that no handler works on yet.
    pub(super) fn next_ready(&mut self) -> Option<Lease> {
        self.remove_ready(0)
    }

    fn remove_ready(&mut self, at: usize) -> Option<Lease> {
        let Ready { lease, is_started } = self.ready.remove(at)?;
        self.ready_bytes = self.ready_bytes.saturating_sub(lease.payload.len());
        self.ready_started -= usize::from(is_started);
        Some(lease)
    }

    /// Hands out the next item that no handler works on yet, to a handler that starts now.
    pub(super) fn start_next(&mut self) -> Option<Lease> {
        let is_started = self.ready.front()?.is_started;
        let lease = self.next_ready()?;
        if !is_started {
            self.started.push((lease.key.item, self.store.now()));
        }
        Some(lease)
    }

    /// Hands out an item that was claimed for a free slot, but is not being worked on.
    pub(super) fn next_claimed_as_started(&mut self) -> Option<Lease> {
        if self.ready_started == 0 {
            return None;
        }
        let at = self.ready.iter().position(|ready| ready.is_started)?;
        self.remove_ready(at)
    }

    /// The items that have started since the store was last told, and are still running.
    pub(super) fn starts(&mut self) -> Vec<Start> {
        let Self { held, started, .. } = self;
        let start = |(item, at)| {
            let &Held { token, .. } = held.get(&item)?;
            Some(Start::new(LeaseKey { item, token }, at))
        };
        started.drain(..).filter_map(start).collect()
    }

    /// Gives a settlement the lease that this worker now has on its item, and gives it up.
    pub(super) fn settle_with(&mut self, settlement: &mut Settlement) {
        let key = &mut settlement.lease;
        let Some(Held { token, attempt }) = self.held.remove(&key.item) else { return };
        if key.token != token {
            key.token = token;
            for row in &mut settlement.history {
                row.attempt = attempt;
            }
        }
    }

    /// Forgets all leases, which then expire.
    pub(super) fn forget(&mut self) {
        self.held.clear();
    }

    pub(super) fn keys(&self) -> Vec<LeaseKey> {
        self.held.iter().map(|(&item, held)| LeaseKey { item, token: held.token }).collect()
    }
}

impl Drop for Leases {
    /// Releases the items of a job whose future was dropped, so that they need not wait for their
    /// leases to expire.
    fn drop(&mut self) {
        if self.held.is_empty() {
            return;
        }
        // Without a runtime, they have to.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (store, keys) = (Arc::clone(&self.store), self.keys());
        runtime.spawn(async move {
            let released = keys.into_iter().map(|lease| Settlement {
                lease,
                end: Settled::Released,
                history: Vec::new(),
            });
            // A failure can no longer be reported; the leases expire by themselves.
            let now = store.now();
            drop(store.settle(released.collect(), Vec::new(), now).await);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::record::{AttemptOutcome, AttemptRecord};
    use crate::store::MemoryStore;

    #[tokio::test(start_paused = true)]
    async fn a_handler_whose_lease_expired_and_was_claimed_again_settles_the_new_attempt() {
        let mut leases = Leases::new(Arc::new(MemoryStore::new()));
        let lease = |token: u64, attempt: u32| {
            let mut lease = Lease::new(LeaseKey { item: 7, token }, "7", "{}");
            lease.attempt = attempt;
            lease
        };
        leases.add(lease(2, 2), true);
        let handled = leases.start_next().expect("a lease");
        leases.add(lease(3, 3), true);
        assert!(leases.start_next().is_none(), "the handler that has it continues");

        let mut row = AttemptRecord::new("worker", Timestamp::default(), AttemptOutcome::Failed);
        row.attempt = handled.attempt;
        let mut settlement = Settlement::new(handled.key, Settled::Succeeded(None), vec![row]);
        leases.settle_with(&mut settlement);
        assert_eq!(settlement.lease, LeaseKey { item: 7, token: 3 });
        assert_eq!(settlement.history[0].attempt, 3, "the lost one was the second");
        assert!(leases.is_empty());
    }
}
