//! [`Leases`]: the leases that a worker holds, queued until a handler works on them. They are
//! released on drop.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::task::{self, AbortHandle};

use crate::item::clock::Timestamp;
use crate::item::lease::{Lease, LeaseKey, Settlement, Start};
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
    /// Leases that a claim may still renew although they were given up: by the settlements that
    /// ended since the last claim began, and by the last settlement.
    settled: HashSet<LeaseKey>,
    settling: HashSet<LeaseKey>,
}

/// The lease of an item that a worker holds.
#[derive(Debug)]
struct Held {
    token: u64,
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
            settled: HashSet::new(),
            settling: HashSet::new(),
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
    /// started. If this worker has an earlier lease of the item, another one has made an attempt in
    /// between, and what this one has of it is out of date.
    pub(super) fn add(&mut self, lease: Lease, is_started: bool, until: Timestamp) {
        let LeaseKey { item, token } = lease.key;
        self.lose(item);
        self.held.insert(item, Held { token, until, handler: None });
        self.ready_bytes = self.ready_bytes.saturating_add(lease.payload.len());
        self.ready_started += usize::from(is_started);
        self.ready.push_back(Ready { lease, is_started });
    }

    /// Extends an expired lease that a claim has renewed: one that this worker holds, or held until
    /// a settlement. Returns `false` for any other lease.
    pub(super) fn renew(&mut self, key: LeaseKey, is_started: bool, until: Timestamp) -> bool {
        let held = self.held.get_mut(&key.item).filter(|held| held.token == key.token);
        let Some(held) = held else {
            return self.settled.contains(&key) || self.settling.contains(&key);
        };
        held.until = held.until.max(until);
        let ready = self.ready.iter_mut().find(|ready| ready.lease.key == key);
        if let Some(ready) = ready.filter(|ready| is_started && !ready.is_started) {
            ready.is_started = true;
            self.ready_started += 1;
        }
        true
    }

    /// Notes that a claim begins, which sees the settlements that have ended.
    pub(super) fn claim_begins(&mut self, is_settling: bool) {
        self.settled.clear();
        if !is_settling {
            self.settling.clear();
        }
    }

    /// Notes that a settlement begins.
    pub(super) fn settlement_begins(&mut self) {
        self.settled.extend(self.settling.drain());
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

    /// Hands out the item at this place of those that no handler works on yet.
    pub(super) fn remove_ready(&mut self, at: usize) -> Option<Lease> {
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

    /// Returns the lease of the item on which this handler works, unless it was lost.
    pub(super) fn of_handler(&self, handler: task::Id) -> Option<LeaseKey> {
        let is_its = |held: &Held| held.handler.as_ref().is_some_and(|own| own.id() == handler);
        let (&item, held) = self.held.iter().find(|(_, held)| is_its(held))?;
        Some(LeaseKey { item, token: held.token })
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

    /// Gives up the lease of a settlement. The result of a handler that was too late has none, and
    /// is rejected.
    pub(super) fn settle(&mut self, key: LeaseKey) {
        if self.held.get(&key.item).is_some_and(|held| held.token == key.token) {
            self.held.remove(&key.item);
            self.settling.insert(key);
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
    use crate::store::SqliteStore;

    const UNTIL: Timestamp = Timestamp::NEVER;

    fn lease(token: u64, attempt: u32) -> Lease {
        let mut lease = Lease::new(LeaseKey { item: 7, token }, "7", "{}");
        lease.attempt = attempt;
        lease
    }

    #[tokio::test(start_paused = true)]
    async fn a_handler_continues_under_its_renewed_lease() {
        let mut leases = Leases::new(Arc::new(SqliteStore::in_memory()));
        assert!(!leases.renew(lease(2, 2).key, true, UNTIL));
        leases.add(lease(2, 2), true, UNTIL);
        let handled = leases.start(0).expect("a lease");
        assert!(leases.renew(handled.key, true, UNTIL));
        assert!(leases.start(0).is_none(), "the handler that has it continues");
        leases.settle(handled.key);
        assert!(leases.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_item_that_is_being_settled_is_not_run_again() {
        let mut leases = Leases::new(Arc::new(SqliteStore::in_memory()));
        leases.add(lease(2, 2), true, UNTIL);
        let key = leases.start(0).expect("a lease").key;
        // A claim that began before the settlement has renewed it, or one during the settlement.
        leases.claim_begins(false);
        leases.settlement_begins();
        leases.settle(key);
        assert!(leases.renew(key, false, UNTIL));
        leases.claim_begins(true);
        assert!(leases.renew(key, false, UNTIL) && leases.is_empty());
        leases.claim_begins(false);
        assert!(!leases.renew(key, false, UNTIL), "the claim has seen the settlement");
    }

    #[tokio::test(start_paused = true)]
    async fn an_item_tried_by_another_worker_restarts_and_the_old_result_is_refused() {
        let mut leases = Leases::new(Arc::new(SqliteStore::in_memory()));
        leases.add(lease(2, 2), true, UNTIL);
        let old = leases.start(0).expect("a lease");
        let handler = tokio::spawn(std::future::pending::<()>());
        leases.handed_to(7, handler.abort_handle());

        assert!(!leases.renew(lease(4, 4).key, false, UNTIL));
        leases.add(lease(4, 4), false, UNTIL);
        assert!(handler.await.unwrap_err().is_cancelled());
        leases.settle(old.key);
        assert!(!leases.is_empty(), "that lease is over");
        let again = leases.start(0).expect("it is begun again");
        leases.settle(again.key);
        assert!(leases.is_empty());
    }
}
