//! The breakers that a family holds: a ring that says which one makes room for another, and a table
//! in which threads that ask for keys do not meet.

use core::hash::Hash;
use core::sync::atomic::AtomicBool;

use super::FamilyKey;
use super::map::Map;
use super::ring::Ring;
use super::table::Table;
use crate::base::name::Name;
use crate::base::sync::{Arc, Mutex, Ordering, lock};
use crate::event::Event;
use crate::event::snapshot::Snapshot;
use crate::event::warning::Warning;
use crate::observe;
use crate::protect::breaker::CircuitBreaker;
#[cfg(all(feature = "sites", not(retry_loom)))]
use crate::site::families::Family;

/// At most this many breakers are looked at to make room for one.
const STEPS: usize = 64;

pub(super) struct Members<K> {
    name: Name,
    capacity: usize,
    /// The keys of the table. Locked for a change of the set of keys, before the table.
    ring: Mutex<Ring<K>>,
    table: Table<K>,
    /// Set if a full family was reported, with no eviction possible since.
    reported_full: AtomicBool,
}

impl<K: Hash + Eq + Clone> Members<K> {
    pub(super) fn new(name: Name, capacity: usize) -> Self {
        Self {
            name,
            capacity,
            ring: Mutex::new(Ring::new()),
            table: Table::new(Map::new()),
            reported_full: AtomicBool::new(false),
        }
    }

    pub(super) const fn name(&self) -> &Name {
        &self.name
    }

    pub(super) fn find<Q: FamilyKey<K> + ?Sized>(&self, key: &Q) -> Option<Arc<CircuitBreaker>> {
        self.table.read().as_ref()?.find(key)
    }

    /// Adds a breaker, evicting another at the limit, and returns it, or the one that another
    /// thread has added for this key. If none can be evicted, it is returned without being added.
    pub(super) fn insert(&self, key: K, breaker: Arc<CircuitBreaker>) -> Arc<CircuitBreaker> {
        let listed = key.clone();
        let mut ring = lock(&self.ring);
        if let Some(present) = self.find(&key) {
            return present;
        }
        let mut table = self.table.write();
        let evicted = if ring.len() < self.capacity {
            ring.push(listed);
            None
        } else {
            let remove = |key: &K, spares: bool| table.map().remove_idle(key, spares);
            let Some((at, removed)) = ring.free(STEPS, remove) else {
                drop(table);
                drop(ring);
                if !self.reported_full.swap(true, Ordering::Relaxed) {
                    let full = Warning::BreakersFull { breaker: &breaker.name };
                    observe::emit(&Event::Warning(full));
                }
                return breaker;
            };
            Some((removed, ring.replace(at, listed)))
        };
        table.map().insert(key, Arc::clone(&breaker));
        drop(table);
        drop(ring);
        self.reported_full.store(false, Ordering::Relaxed);
        // Only now: dropping a key, or what listens to a breaker, runs its author's code.
        drop(evicted);
        breaker
    }

    /// In the order of their keys.
    pub(super) fn snapshots(&self) -> Vec<Snapshot> {
        // Nothing comes or goes meanwhile, so that there are never more than the capacity.
        let ring = lock(&self.ring);
        let mut all = Vec::with_capacity(ring.len());
        if let Some(map) = &*self.table.read() {
            all.extend(map.breakers().map(CircuitBreaker::snapshot));
        }
        drop(ring);
        all.sort_by(|one, other| one.name.key().cmp(&other.name.key()));
        all
    }
}

/// The report lists the breakers that are not closed, and those with failures.
#[cfg(all(feature = "sites", not(retry_loom)))]
impl<K: Hash + Eq + Clone + Send + Sync> Family for Members<K> {
    fn name(&self) -> Name {
        self.name.clone()
    }

    fn members(&self) -> Vec<Snapshot> {
        self.snapshots()
    }
}
