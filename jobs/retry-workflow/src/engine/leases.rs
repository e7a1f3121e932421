//! [`Leases`]: the leases that a worker holds, queued until a handler works on them. They are
//! released on drop.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::item::clock::Timestamp;
use crate::item::record::{Lease, LeaseKey, Settlement, Start};
use crate::store::{MAX_CLAIM_BYTES, Store};

/// The items that a worker has in hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// All leases, including leases of items that are done but not yet passed to the store.
    pub(super) held: usize,
    /// Those of them that no handler works on yet.
    pub(super) ready: usize,
    pub(super) running: usize,
}

/// The leases that a worker holds.
pub(super) struct Leases {
    store: Arc<dyn Store>,
    /// The lease of each item, by its item.
    held: HashMap<i64, Held>,
    /// Items that no handler works on yet, and the size of their payloads in bytes.
    ready: VecDeque<Ready>,
    ready_bytes: usize,
    /// The number of these that the store has as started.
    ready_started: usize,
    /// Items that handlers have started, and when, as long as the store does not know.
    started: Vec<(i64, Timestamp)>,
}

/// The lease of an item that a worker holds.
#[derive(Debug)]
struct Held {
    token: u64,
    /// The first lease of those in a row that the same handler works under.
    since: u64,
    /// The number of the attempt that this lease is for.
    attempt: u32,
    /// Until when it certainly is this worker's.
    until: Timestamp,
    /// Ends the handler that works on it.
    handler: Option<AbortHandle>,
}

/// An item that no handler works on yet.
struct Ready {
    lease: Lease,
    /// Set if the store has it as started, because it was claimed for a free slot.
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

    /// Returns whether a handler works on each of them.
    pub(super) fn are_handed_out(&self) -> bool {
        self.ready.is_empty()
    }

    /// Returns how many free slots are left after the items that no handler works on yet.
    pub(super) fn free_beyond_ready(&self, free: usize) -> usize {
        free.saturating_sub(self.ready.len())
    }

    /// Returns whether the items that no handler works on yet are as large as a claim may be.
    pub(super) fn are_large(&self) -> bool {
        self.ready_bytes >= MAX_CLAIM_BYTES
    }

    /// Adds a lease that lasts until then; `is_started` says whether the store has the item as
    /// started.
    pub(super) fn add(&mut self, lease: Lease, is_started: bool, until: Timestamp) {
        let LeaseKey { item, token } = lease.key;
        let attempt = lease.attempt;
        let mut held = Held { token, since: token, attempt, until, handler: None };
        let is_continued = self.is_continued_by(&lease);
        if !is_continued {
            self.lose(item);
        }
        // This worker's own lease had expired: the handler that has it, or will have it, continues,
        // in the attempt of the new one.
        if let Some(before) = self.held.remove(&item) {
            (held.handler, held.since) = (before.handler, before.since);
            self.held.insert(item, held);
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
        self.held.insert(item, held);
        self.ready_bytes = self.ready_bytes.saturating_add(lease.payload.len());
        self.ready_started += usize::from(is_started);
        self.ready.push_back(Ready { lease, is_started });
    }

    /// Returns whether a lease follows the one that this worker has of the item. Otherwise another
    /// worker has made an attempt in between, and what this one has of it is out of date.
    pub(super) fn is_continued_by(&self, lease: &Lease) -> bool {
        self.held
            .get(&lease.key.item)
            .is_some_and(|held| held.attempt.saturating_add(1) == lease.attempt)
    }

    /// Drops an item that another worker has, or has had: the handler that works on it is ended.
    fn lose(&mut self, item: i64) {
        let Some(held) = self.held.remove(&item) else { return };
        self.started.retain(|(started, _)| *started != item);
        if let Some(handler) = held.handler {
            handler.abort();
        } else if let Some(at) = self.ready.iter().position(|one| one.lease.key.item == item) {
            self.remove_ready(at);
        }
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

    /// The items that no handler works on yet, in order.
    pub(super) fn ready_items(&self) -> impl Iterator<Item = i64> {
        self.ready.iter().map(|ready| ready.lease.key.item)
    }

    /// Returns whether this worker holds an item.
    pub(super) fn holds(&self, item: i64) -> bool {
        self.held.contains_key(&item)
    }

    /// Hands out an item that no handler works on yet.
    pub(super) fn take_ready(&mut self, item: i64) -> Option<Lease> {
        let at = self.ready_items().position(|ready| ready == item)?;
        self.remove_ready(at)
    }

    /// Hands out the item at this place of those that no handler works on yet, to a handler that
    /// starts now.
    pub(super) fn start(&mut self, at: usize) -> Option<Lease> {
        let is_started = self.ready.get(at)?.is_started;
        let lease = self.remove_ready(at)?;
        if !is_started {
            self.started.push((lease.key.item, self.store.now()));
        }
        Some(lease)
    }

    /// Returns whether the lease of the next item that no handler works on yet is past: another
    /// worker may have the item, so it must not be started before the lease is renewed.
    pub(super) fn is_next_past(&self) -> bool {
        let held = self.ready.front().and_then(|next| self.held.get(&next.lease.key.item));
        held.is_some_and(|held| held.until <= self.store.now())
    }

    /// Notes which handler works on an item.
    pub(super) fn handed_to(&mut self, item: i64, handler: AbortHandle) {
        if let Some(held) = self.held.get_mut(&item) {
            held.handler = Some(handler);
        }
    }

    /// Takes over the store's result of a renewal until then. An item whose lease was refused has
    /// another worker now: it is dropped, and the handler that works on it is ended. Returns
    /// whether there was one.
    pub(super) fn renewed(&mut self, keys: &[LeaseKey], good: &[bool], until: Timestamp) -> bool {
        let mut has_lost = false;
        for (key, good) in keys.iter().zip(good) {
            // Ignores leases that have been settled or reclaimed in the meantime.
            let Some(held) = self.held.get_mut(&key.item) else { continue };
            if held.token != key.token {
                continue;
            }
            if *good {
                held.until = held.until.max(until);
                continue;
            }
            has_lost = true;
            self.lose(key.item);
        }
        has_lost
    }

    /// Hands out an item that was claimed for a free slot, but is not being worked on.
    pub(super) fn next_claimed_as_started(&mut self) -> Option<Lease> {
        if self.ready_started == 0 {
            return None;
        }
        let at = self.ready.iter().position(|ready| ready.is_started)?;
        self.remove_ready(at)
    }

    /// Returns the starts of items that the store does not have yet, and that are still running.
    pub(super) fn starts(&mut self) -> Vec<Start> {
        let Self { held, started, .. } = self;
        let start = |(item, at)| {
            let token = held.get(&item)?.token;
            Some(Start::new(LeaseKey { item, token }, at))
        };
        started.drain(..).filter_map(start).collect()
    }

    /// Gives a settlement the lease that this worker now has on its item, and gives it up.
    pub(super) fn settle_with(&mut self, settlement: &mut Settlement) {
        let key = &mut settlement.lease;
        // The result of a handler that was too late has no lease, and is rejected.
        if self.held.get(&key.item).is_some_and(|held| key.token < held.since) {
            return;
        }
        let Some(Held { token, attempt, .. }) = self.held.remove(&key.item) else { return };
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
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(release(Arc::clone(&self.store), self.keys()));
        }
    }
}

/// Releases items that no handler works on. A failure can no longer be reported; the leases expire
/// by themselves.
pub(super) async fn release(store: Arc<dyn Store>, keys: Vec<LeaseKey>) {
    let released = keys.into_iter().map(Settlement::released);
    let now = store.now();
    drop(store.settle(released.collect(), Vec::new(), now).await);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::record::{AttemptOutcome, AttemptRecord, Settled};
    use crate::store::SqliteStore;

    #[tokio::test(start_paused = true)]
    async fn a_handler_with_a_reclaimed_lease_settles_the_new_attempt() {
        let mut leases = Leases::new(Arc::new(SqliteStore::in_memory()));
        let lease = |token: u64, attempt: u32| {
            let mut lease = Lease::new(LeaseKey { item: 7, token }, "7", "{}");
            lease.attempt = attempt;
            lease
        };
        let until = Timestamp::NEVER;
        leases.add(lease(2, 2), true, until);
        let handled = leases.start(0).expect("a lease");
        leases.add(lease(3, 3), true, until);
        assert!(leases.start(0).is_none(), "the handler that has it continues");

        let mut row = AttemptRecord::new("worker", Timestamp::default(), AttemptOutcome::Failed);
        row.attempt = handled.attempt;
        let mut settlement = Settlement::new(handled.key, Settled::Succeeded(None), vec![row]);
        leases.settle_with(&mut settlement);
        assert_eq!(settlement.lease, LeaseKey { item: 7, token: 3 });
        assert_eq!(settlement.history[0].attempt, 3, "the lost one was the second");
        assert!(leases.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_item_tried_by_another_worker_restarts_and_the_old_result_is_refused() {
        let mut leases = Leases::new(Arc::new(SqliteStore::in_memory()));
        let lease = |token: u64, attempt: u32| {
            let mut lease = Lease::new(LeaseKey { item: 7, token }, "7", "{}");
            lease.attempt = attempt;
            lease
        };
        leases.add(lease(2, 2), true, Timestamp::NEVER);
        let old = leases.start(0).expect("a lease");
        let handler = tokio::spawn(std::future::pending::<()>());
        leases.handed_to(7, handler.abort_handle());

        leases.add(lease(4, 4), false, Timestamp::NEVER);
        assert!(handler.await.unwrap_err().is_cancelled());
        let settles = |key| Settlement::new(key, Settled::Succeeded(None), Vec::new());
        let mut late = settles(old.key);
        leases.settle_with(&mut late);
        assert_eq!(late.lease, old.key, "the store knows that this lease is over");
        let anew = leases.start(0).expect("it is begun anew");
        let mut settlement = settles(anew.key);
        leases.settle_with(&mut settlement);
        assert_eq!(settlement.lease, LeaseKey { item: 7, token: 4 });
        assert!(leases.is_empty());
    }
}
